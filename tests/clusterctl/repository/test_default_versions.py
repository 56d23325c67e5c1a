"""The version of a provider that names none, of the tags of its repository.

The tags, and the series in the newest metadata.yaml, are those of public repositories
(`provider_tags.json`). A Go module proxy lists them as it does: the major
versions 0 and 1 together, each other one under a path of its own.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from kapy.clusterctl.errors import RepositoryError
from kapy.clusterctl.repository.cache import Cache
from kapy.clusterctl.repository.github import DEFAULT_PROXY, GitHubSource, Hosts
from kapy.clusterctl.repository.latest import latest_version
from kapy.clusterctl.repository.web import HttpResponse

DATA: Final = Path(__file__).with_name("provider_tags.json")
TAGS: Final[dict[str, Any]] = json.loads(DATA.read_text())
DEFAULTS: Final = {
    "canonical/cluster-api-k8s": "v0.6.1",
    "ionos-cloud/cluster-api-provider-proxmox": "v0.9.0",
    "k0sproject/k0smotron": "v2.1.0",
    "k3s-io/cluster-api-k3s": "v0.3.1",
    "kubernetes-sigs/cluster-api": "v1.14.0",
    "kubernetes-sigs/cluster-api-ipam-provider-in-cluster": "v1.0.3",
    "kubernetes-sigs/cluster-api-provider-azure": "v1.26.0",
    "kubernetes-sigs/cluster-api-provider-digitalocean": "v1.6.0",
    "kubernetes-sigs/cluster-api-provider-gcp": "v1.12.0",
    "kubernetes-sigs/cluster-api-provider-ibmcloud": "v0.14.0",
    "kubernetes-sigs/cluster-api-provider-kubevirt": "v0.11.2",
    "kubernetes-sigs/cluster-api-provider-nested": "v0.1.0",
    "metal3-io/cluster-api-provider-metal3": "v1.13.2",
    "metal3-io/ip-address-manager": "v1.13.2",
    "oracle/cluster-api-provider-oci": "v0.24.0",
}
"""As clusterctl v1.14 chooses them by its rules."""


@dataclass
class Places:
    """A Go module proxy, and GitHub's downloads. refuses: the proxy knows no module."""

    repository: str
    refuses: int = 0
    without_metadata: int = 0
    asked: list[str] = field(default_factory=list)

    async def get(self, url: str, headers: Any = None) -> HttpResponse:
        self.asked.append(url)
        answer = self._answer(url)
        return HttpResponse(url, 404 if answer is None else answer[0], {}, (answer or (0, b""))[1])

    def _answer(self, url: str) -> tuple[int, bytes] | None:
        tags = TAGS[self.repository]["tags"].split()
        if url.endswith("/@v/list"):
            if self.refuses:
                return self.refuses, b"not for you"
            module = re.search(r"/v(\d+)/@v", url)
            majors = (module[1],) if module else ("0", "1")
            chosen = [tag for tag in tags if tag.removeprefix("v").split(".")[0] in majors]
            return (200, "\n".join(chosen).encode()) if chosen or not module else None
        if url.startswith("https://api.github.com/"):
            return 200, json.dumps([{"tag_name": tag} for tag in reversed(tags)][:100]).encode()
        if url.endswith("/metadata.yaml") and url.split("/")[-2] in tags:
            if self.without_metadata:
                self.without_metadata -= 1
                return None
            return 200, self._metadata()
        return None

    def _metadata(self) -> bytes:
        listed = []
        for item in TAGS[self.repository]["series"]:
            version, contract = item.split()
            major, minor = version.split(".")
            listed.append({"major": int(major), "minor": int(minor), "contract": contract})
        head = {"apiVersion": "clusterctl.cluster.x-k8s.io/v1alpha3", "kind": "Metadata"}
        return json.dumps({**head, "releaseSeries": listed}).encode()


def repository(places: Places, folder: Path) -> Any:
    web: Any = places
    return GitHubSource(
        places.repository, "latest", "components.yaml", web, Cache(folder),
        hosts=Hosts(proxies=(DEFAULT_PROXY,)),
    )  # fmt: skip


@pytest.mark.parametrize("name", TAGS)
async def test_the_default_version_is_the_newest_release(name: str, tmp_path: Path) -> None:
    places = Places(name)
    assert await latest_version(repository(places, tmp_path)) == DEFAULTS[name]
    assert not any("api.github.com" in text for text in places.asked)


@pytest.mark.parametrize("status", [403, 451, 500])
@pytest.mark.parametrize("name", ["metal3-io/ip-address-manager", "k0sproject/k0smotron"])
async def test_github_is_used_where_the_go_proxy_does_not_answer(
    name: str, status: int, tmp_path: Path
) -> None:
    places = Places(name, refuses=status)
    assert await latest_version(repository(places, tmp_path)) == DEFAULTS[name]


async def test_a_release_that_is_not_complete_yet_is_left_out(tmp_path: Path) -> None:
    places = Places("metal3-io/ip-address-manager", without_metadata=1)
    assert await latest_version(repository(places, tmp_path)) == "v1.13.1"
    places = Places("metal3-io/ip-address-manager", without_metadata=5)
    with pytest.raises(RepositoryError, match=r"release v1\.13\.2 of .* has no file") as error:
        await latest_version(repository(places, tmp_path))
    assert "failed to find releases tagged with a valid semantic version number" in str(error.value)
    assert "write the version that is meant" in str(error.value)
