"""Makes the component files of clusterctl's providers from their sources: a folder of repositories,
one for each provider, which `kapy init` installs from.

    python -m tests.released_managers.component_files SOURCES KUSTOMIZE TARGET

SOURCES: a folder with a clone of each project, as OWNER+NAME or OWNER+NAME/repo (a work tree, or a
bare repository). KUSTOMIZE: the program. TARGET: gets LABEL/VERSION/FILE and metadata.yaml.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Final, NamedTuple

from kapy.clusterctl.config.providers import predefined_providers
from kapy.clusterctl.provider import Provider

_FOLDERS: Final = {
    "bootstrap-canonical-kubernetes": "bootstrap/config/default",
    "bootstrap-k0sproject-k0smotron": "config/clusterapi/bootstrap",
    "bootstrap-kubeadm": "bootstrap/kubeadm/config/default",
    "bootstrap-rke2": "bootstrap/config/default",
    "cluster-api": "core/config/default",
    "control-plane-canonical-kubernetes": "controlplane/config/default",
    "control-plane-hosted-control-plane": "config",
    "control-plane-k0sproject-k0smotron": "config/clusterapi/controlplane",
    "control-plane-kubeadm": "controlplane/kubeadm/config/default",
    "control-plane-nested": "controlplane/nested/config/default",
    "control-plane-rke2": "controlplane/config/default",
    "infrastructure-azure": "config/capz",  # without the operator that it fetches from elsewhere
    "infrastructure-docker": "test/infrastructure/docker/config/default",
    "infrastructure-k0sproject-k0smotron": "config/clusterapi/infrastructure",
    "infrastructure-kubekey": "config/capkk",
    "infrastructure-sidero": "config",
}
"""Folders of kustomizations, where they are not at the usual place."""
_USUAL: Final = "config/default"
_METADATA: Final = (
    "metadata.yaml", "config/metadata/metadata.yaml", "config/capkk/release/metadata.yaml"
)  # fmt: skip
_NO_METADATA: Final = """\
apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3
kind: Metadata
releaseSeries:
- {major: 0, minor: 0, contract: v1beta1}
"""
"""That of a project whose releases have one, and whose source has none."""
_EDITED: Final = "manager_image_patch_edited.yaml"
"""A file that make writes for some projects: the image patch with the image of a release."""
_PARTS: Final = (".", ":!*.go", ":!*.md", ":!docs", ":!vendor", ":!dependencies.json")
_NO_REGISTRY: Final = re.compile(r"(?m)^(\s*(?:- )?image: )(?=[^./:\s]+(?:/|:\S*$))")
"""An image of a development build, without a registry. Make replaces it with that of a release."""
_SERIES: Final = re.compile(
    r"major:\s*(?P<major>\d+)\s+minor:\s*(?P<minor>\d+)|minor:\s*(?P<minor2>\d+)\s+major:\s*(?P<major2>\d+)"
)


class NotMade(Exception):
    """The component file of a provider cannot be made; the message gives the reason."""


class Source(NamedTuple):
    """A provider, its project (OWNER/NAME) and the folder of its kustomization."""

    provider: Provider
    project: str
    folder: str


def sources() -> Iterator[Source]:
    """The sources of all providers of clusterctl's list."""
    for provider in predefined_providers():
        owner, name = provider.url.removeprefix("https://github.com/").split("/")[:2]
        yield Source(provider, f"{owner}/{name}", _FOLDERS.get(provider.label, _USUAL))


def make(source: Source, clones: Path, kustomize: Path, target: Path) -> str:
    """Make one repository; the version. Raises NotMade."""
    with tempfile.TemporaryDirectory() as text:
        work = Path(text)
        _check_out(clones / source.project.replace("/", "+"), work)
        folder = work / source.folder
        if not folder.is_dir():
            raise NotMade(f"{source.project} has no folder {source.folder}")
        patch = folder / _EDITED.replace("_edited", "")
        if patch.exists() and not (folder / _EDITED).exists():
            (folder / _EDITED).write_text(patch.read_text())
        done = subprocess.run(
            [*_WITHOUT_NETWORK, str(kustomize), "build", "--load-restrictor=LoadRestrictionsNone",
             str(folder)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise NotMade(f"kustomize: {done.stderr.strip()[-400:]}")
        metadata = next((work / item for item in _METADATA if (work / item).exists()), None)
        message = _NO_METADATA if metadata is None else metadata.read_text()
        version = _newest(message)
        path = target / source.provider.label / version
        path.mkdir(parents=True, exist_ok=True)
        (path / source.provider.url.rpartition("/")[2]).write_text(
            _NO_REGISTRY.sub(r"\1registry.example/", done.stdout)
        )
        (path / "metadata.yaml").write_text(message)
        return version


_WITHOUT_NETWORK: Final = ("unshare", "--net", "--user", "--map-root-user")


def _check_out(clone: Path, work: Path) -> None:
    repository = clone / "repo" if (clone / "repo").is_dir() else clone
    if not repository.is_dir():
        raise NotMade("its source is not there")
    command = ["git", "-C", str(repository), "archive", "HEAD", *_PARTS]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        raise NotMade(f"git: {done.stderr.decode(errors='replace').strip()[-400:]}")
    with tarfile.open(fileobj=BytesIO(done.stdout)) as archive:
        archive.extractall(work, filter="data")


def _newest(metadata: str) -> str:
    """The first version of the newest release series."""
    results = [
        (int(match["major"] or match["major2"]), int(match["minor"] or match["minor2"]))
        for match in _SERIES.finditer(metadata)
    ]
    major, minor = max(results, default=(0, 0))
    return f"v{major}.{minor}.0"


def main() -> None:
    """Make what can be made, and print why others cannot."""
    clones, kustomize, target = map(Path, sys.argv[1:])
    for source in sources():
        try:
            message = make(source, clones, kustomize, target)
        except NotMade as error:
            message = f"not made: {error}"
        sys.stdout.write(f"{source.provider.label} {message}\n")


if __name__ == "__main__":
    main()
