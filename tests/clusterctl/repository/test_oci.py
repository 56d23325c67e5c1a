"""OCI registries over real sockets: pulled from, pushed to, and not believed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from kapy.clusterctl.config import load
from kapy.clusterctl.errors import FileMissing, RepositoryError
from kapy.clusterctl.oci.artifact import pack
from kapy.clusterctl.oci.credentials import Credentials
from kapy.clusterctl.oci.registry import Registry as Client
from kapy.clusterctl.provider import Provider, ProviderType
from kapy.clusterctl.repository.cache import Cache
from kapy.clusterctl.repository.oci import OciSource, oci_at
from kapy.clusterctl.repository.remote import CachedRepository
from kapy.clusterctl.repository.web import WebClient
from tests.clusterctl.repository.servers import (
    Answer,
    Registry,
    Server,
    broken_off,
    saying,
    serving,
    status,
)
from tests.clusterctl.repository.test_folders import METADATA

HERD = Provider("herd", ProviderType.CONTROL_PLANE, "oci://unused/herd")
FILES = {
    "metadata.yaml": METADATA,
    "control-plane-components.yaml": b"kind: Herd",
    "cluster-template.yaml": b"kind: Cluster",
}
pytestmark = pytest.mark.sockets


def client(server: Server, credentials: Credentials = Credentials()) -> Client:  # noqa: B008
    return Client(server.url, "herd", WebClient((0, 0)), credentials)


def repository(client: Client, default: str = "latest") -> CachedRepository:
    cache = Cache(None)
    source = OciSource(client, default, "control-plane-components.yaml", cache, HERD)
    return CachedRepository(source, cache)


async def test_a_pushed_release_is_a_repository() -> None:
    registry = Registry()
    async with serving(registry.server()) as server:
        for version in ("v1.1.0", "v1.2.0", "v1.2.1_build.5", "v1.2.0-rc.1", "latest"):
            await client(server).push(pack(FILES), version)
        ours = repository(client(server))
        assert await ours.versions() == ["v1.2.0-rc.1", "v1.1.0", "v1.2.0", "v1.2.1+build.5"]
        assert await ours.default_version() == "v1.2.1+build.5"
        assert await ours.files("v1.1.0") == sorted(FILES)
        for name, content in FILES.items():
            assert await ours.file("v1.2.1+build.5", name) == content
        pushed = len(
            [text for text in server.asked if text.startswith("PUT") and "uploads" in text]
        )
        assert pushed == len(FILES) + 1, "content that is there is not sent again"


async def test_an_artifact_has_the_same_digest_whenever_it_is_made() -> None:
    turned = dict(reversed(FILES.items()))
    assert pack(FILES).descriptor() == pack(turned).descriptor()


@pytest.mark.parametrize(
    "names",
    [
        ("metadata.yaml", "components.yaml"),
        ("metadata.yaml", "controlplane-components.yaml"),
        ("controlplane-herd-v1.0.0-metadata.yaml", "controlplane-herd-v1.0.0-components.yaml"),
    ],
)
async def test_artifacts_of_cluster_api_operator_are_understood(names: tuple[str, str]) -> None:
    async with serving(Registry().server()) as server:
        files = dict(zip(names, (METADATA, b"kind: Herd"), strict=True))
        await client(server).push(pack(files, also={"again.yaml": names[1]}), "v1.0.0")
        ours = repository(client(server))
        assert await ours.file("v1.0.0", "metadata.yaml") == METADATA
        assert await ours.file("v1.0.0", ours.components_file) == b"kind: Herd"
        assert {"metadata.yaml", ours.components_file} <= set(await ours.files("v1.0.0"))


async def test_an_index_has_the_files_of_its_manifests() -> None:
    registry = Registry()
    async with serving(registry.server()) as server:
        artifacts = [pack({name: content}) for name, content in FILES.items()]
        for artifact in artifacts:
            await client(server).push(artifact, "part")
        documents = [item.descriptor().document() for item in artifacts]
        import msgspec

        kind = "application/vnd.oci.image.index.v1+json"
        index = msgspec.json.encode({"schemaVersion": 2, "manifests": documents})
        registry.manifests["herd:v1.0.0"] = (kind, index)
        assert await repository(client(server)).files("v1.0.0") == sorted(FILES)


@pytest.mark.parametrize(
    ("credentials", "allowed"),
    [
        (Credentials("me", "secret"), True),
        (Credentials(refresh_token="kept"), True),
        (Credentials("me", "wrong"), False),
        (Credentials(refresh_token="guessed"), False),
        (Credentials(), False),
        (Credentials(access_token="guessed"), False),
    ],
)
async def test_a_registry_gets_the_credentials(credentials: Credentials, allowed: bool) -> None:
    registry = Registry(secret=("me", "secret"))
    async with serving(registry.server()) as server:
        asking = client(server, credentials)
        if allowed:
            await asking.push(pack(FILES), "v1.2.0")
            assert await repository(asking).default_version() == "v1.2.0"
            assert len([text for text in server.asked if "/token" in text]) == 2, "one a right"
            return
        with pytest.raises(RepositoryError, match=r"authentication required.*OCI_USER") as error:
            await asking.push(pack(FILES), "v1.2.0")
    assert not any(word in str(error.value) for word in ("secret", "wrong", "guessed"))
    assert "secret" not in repr(replace(credentials, password="secret"))


@pytest.mark.parametrize(
    ("path", "fault", "said"),
    [
        ("/tags/list", status(429), "the rate limit of http.* is reached .429.: wait, or log in"),
        ("/tags/list", saying(b"{}", "application/json"), "JSON that is not what such"),
        ("/tags/list", saying(b"<html>", "text/html"), "something that is not JSON"),
        ("/manifests/", saying(b"[]", "application/json"), "JSON that is not what such"),
        ("/manifests/", saying(b"{}", "application/json"), "is no artifact with files"),
        ("/manifests/", status(418), "answered 418; try again later"),
        ("/manifests/", status(403), "is refused .403.: OCI_USERNAME and OCI_PASSWORD"),
        ("/blobs/", saying(b"kind: Wolf", "application/yaml"), "is not what its digest says"),
        ("/blobs/", broken_off, "broke off in the middle"),
    ],
)
async def test_a_registry_that_refuses_or_lies_is_reported(
    path: str, fault: Answer, said: str
) -> None:
    async with serving(Registry().server()) as server:
        await client(server).push(pack(FILES), "v1.2.0")
        server.fail(path, fault, 3)
        with pytest.raises(RepositoryError, match=said):
            await repository(client(server)).default_version()


async def test_a_release_missing_in_the_registry_is_reported() -> None:
    async with serving(Registry().server()) as server:
        await client(server).push(pack(FILES), "v1.2.0")
        ours = repository(client(server))
        with pytest.raises(FileMissing, match=r"no version v9\.0\.0: .*404: manifest unknown"):
            await ours.file("v9.0.0", "metadata.yaml")
        with pytest.raises(FileMissing, match=r'has no file "x"; it has cluster-t'):
            await ours.file("v1.2.0", "x")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("oci://r.local/a/herd:v1.0.0", ("https://r.local/v2/a/herd", "v1.0.0", "")),
        ("oci://r.local:5000/herd", ("https://r.local:5000/v2/herd", "latest", "")),
        ("oci+http://r.local/herd:v1.0.0_b.1", ("http://r.local/v2/herd", "v1.0.0+b.1", "")),
        ("oci://r.local/herd/latest/c.yaml", ("https://r.local/v2/herd", "latest", "c.yaml")),
        ("oci://r.local/a/b/v1.0.0/c.yaml", ("https://r.local/v2/a/b", "v1.0.0", "c.yaml")),
    ],
)
def test_a_url_names_registry_version_and_components(
    url: str, expected: tuple[str, str, str]
) -> None:
    source = oci_at(url, load(None, {"HOME": "/nowhere"}), HERD)
    place, default, file = expected
    assert (source.place, source.default) == (place, default)
    assert source.components_file == (file or "control-plane-components.yaml")


@pytest.mark.parametrize(
    ("environ", "credentials"),
    [
        ({}, Credentials()),
        ({"OCI_USERNAME": "me", "OCI_PASSWORD": "p"}, Credentials("me", "p")),
        ({"OCI_ACCESS_TOKEN": "a"}, Credentials(access_token="a")),
        ({"OCI_REFRESH_TOKEN": "r"}, Credentials(refresh_token="r")),
    ],
)
def test_credentials_are_those_of_cluster_api_operator(
    environ: Mapping[str, str], credentials: Credentials
) -> None:
    from kapy.clusterctl.oci.credentials import credentials_of

    assert credentials_of(load(None, {"HOME": "/nowhere", **environ}).variables) == credentials
