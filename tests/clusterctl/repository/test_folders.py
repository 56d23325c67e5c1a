"""Folders, overrides, and which version is the newest."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from kapy.client.blocking import run_without_loop
from kapy.clusterctl.config import load
from kapy.clusterctl.errors import FileMissing, RepositoryError
from kapy.clusterctl.provider import Provider, ProviderType
from kapy.clusterctl.repository import is_local, repository_at, repository_of
from kapy.clusterctl.repository.memory import MemoryRepository
from kapy.clusterctl.repository.releases import Repository

METADATA = b"""
apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3
kind: Metadata
releaseSeries:
- {major: 1, minor: 0, contract: v1beta1}
- {major: 1, minor: 2, contract: v1beta2}
- {major: 1, minor: 1, contract: v1beta2}
- {major: 2, minor: 0, contract: v1beta3}
"""


def releases(*versions: str, metadata: bytes = METADATA) -> dict[str, dict[str, bytes]]:
    return {version: {"metadata.yaml": metadata} for version in versions}


@pytest.mark.parametrize(
    ("there", "newest"),
    [
        (releases("v1.2.0", "v1.2.10", "v1.2.9"), "v1.2.10"),
        (releases("v1.2.0", "v1.3.0-rc.0"), "v1.2.0"),
        (releases("v1.2.0-alpha.1", "v1.2.0-alpha.2"), "v1.2.0-alpha.2"),
        (releases("v1.2.0", "nightly", "v1.9"), "v1.2.0"),
        (releases("v1.2.3", "v2.0.0", "v1.2.4", "v1.1.9"), "v1.2.4"),
        (releases("v2.0.0", "v1.2.0", metadata=b"no: series"), "v2.0.0"),
        (releases("v2.0.0", metadata=b"{"), "v2.0.0"),
        (releases("v1.2.0") | {"v1.2.1": {}, "v1.2.2": {}}, "v1.2.0"),
    ],
)
async def test_the_newest_version_is_complete_and_of_this_contract(
    there: Mapping[str, Mapping[str, bytes]], newest: str
) -> None:
    repository = MemoryRepository(there, components_file="c.yaml")
    assert await repository.default_version() == newest


@pytest.mark.parametrize(
    "there",
    [{}, releases("main"), {f"v1.0.{patch}": {} for patch in range(5)} | releases("v0.9.0")],
)
async def test_a_version_must_be_named_where_there_is_no_newest_one(
    there: Mapping[str, Mapping[str, bytes]],
) -> None:
    with pytest.raises(RepositoryError, match="write the version that is meant"):
        await MemoryRepository(there, components_file="c.yaml").default_version()


def folder(tmp_path: Path, *versions: str) -> str:
    """A repository with metadata, its URL without the version."""
    for version in versions:
        place = tmp_path / "releases" / "infrastructure-herd" / version
        place.mkdir(parents=True)
        (place / "metadata.yaml").write_bytes(METADATA)
    (tmp_path / "releases" / "infrastructure-herd" / "notes.txt").write_text("x")
    return f"{tmp_path}/releases/infrastructure-herd"


def opened(url: str, tmp_path: Path) -> Repository:
    config = load(None, {"HOME": str(tmp_path)})
    return repository_of(Provider("herd", ProviderType.INFRASTRUCTURE, url), config)


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_a_local_folder_is_a_repository(tmp_path: Path, scheme: str) -> None:
    place = folder(tmp_path, "v1.1.0", "v1.2.0", "v1.10.0", "main")
    latest = opened(f"{scheme}{place}/latest/herd.yaml", tmp_path)
    assert latest.components_file == "herd.yaml"
    assert run_without_loop(latest.default_version()) == "v1.2.0"  # 1.10 is of another contract
    assert run_without_loop(latest.versions()) == ["v1.1.0", "v1.2.0", "v1.10.0"]
    assert run_without_loop(latest.files("v1.1.0")) == ["metadata.yaml"]
    assert run_without_loop(latest.file("main", "metadata.yaml")) == METADATA
    assert (
        run_without_loop(opened(f"{place}/v1.1.0/c.yaml", tmp_path).default_version()) == "v1.1.0"
    )


def test_a_missing_file_is_reported_with_the_existing_ones(tmp_path: Path) -> None:
    repository = opened(f"{folder(tmp_path, 'v1.0.0')}/latest/c.yaml", tmp_path)
    path = tmp_path / "releases" / "infrastructure-herd"
    with pytest.raises(FileMissing, match=f"stat {path}/v1.0.0/x: .*the release has meta"):
        run_without_loop(repository.file("v1.0.0", "x"))
    with pytest.raises(FileMissing, match=r"the releases there are v1\.0\.0"):
        run_without_loop(repository.file("v9.0.0", "metadata.yaml"))
    with pytest.raises(RepositoryError, match="it is a directory"):
        run_without_loop(repository.file("", "v1.0.0"))
    with pytest.raises(RepositoryError, match=r"no release v9\.0\.0.*there are v1\.0\.0"):
        run_without_loop(repository.files("v9.0.0"))
    with pytest.raises(RepositoryError, match="failed to list release directories"):
        run_without_loop(
            opened("/nowhere/infrastructure-herd/latest/c.yaml", tmp_path).default_version()
        )


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("a/b.yaml", 'path "a/b.yaml" must be an absolute path'),
        ("/c.yaml", "should be in the form"),
        ("/r/infrastructure-herd/main/c.yaml", 'invalid version: "main"'),
        ("/r/infrastructure-cow/v1.0.0/c.yaml", 'must contain provider "infrastructure-herd"'),
        ("ftp://a/b/v1.0.0/c.yaml", 'no provider implementation for "ftp" schema'),
        ("https://example.com/c.yaml", "Only GitHub and GitLab are supported"),
        ("https://github.com/herd/capybara/v1.0.0/c.yaml", "a GitHub repository url should be"),
        ("https://github.com/herd/capybara/releases/latest/", "a GitHub repository url should be"),
        ("https://gitlab.com/herd/-/releases/v1.0.0/c.yaml", "a GitLab repository url should be"),
        (
            "https://gitlab.com/api/v4/projects/1/packages/generic/p/latest/c.yaml",
            "versions of GitLab packages cannot be listed, so the url must name one",
        ),
        ("oci://registry.local", "an OCI repository url should be"),
        ("oci://registry.local/herd@sha256:0", "an OCI repository url should be"),
        ("oci://me:secret@registry.local/herd:v1.0.0", "credentials do not belong into the url"),
        ("oci://registry.local/herd:main", 'invalid version: "main"'),
    ],
)
def test_a_url_that_is_no_repository_s_is_reported(tmp_path: Path, url: str, said: str) -> None:
    with pytest.raises(RepositoryError) as error:
        opened(url, tmp_path)
    prefix = "failed to get repository client for the InfrastructureProvider with name herd: "
    assert str(error.value).startswith(prefix)
    assert said in str(error.value)
    assert "secret" not in str(error.value)


def test_an_override_is_read_in_the_place_of_a_file(tmp_path: Path) -> None:
    url, messages = f"{folder(tmp_path, 'v1.0.0')}/latest/c.yaml", list[tuple[int, str]]()
    config = load(None, {"HOME": str(tmp_path)})
    config.tell = lambda level, text: messages.append((level, text))
    repository = repository_of(Provider("herd", ProviderType.INFRASTRUCTURE, url), config)
    own = tmp_path / ".config" / "cluster-api" / "overrides" / "infrastructure-herd"
    (own / "v1.0.0").mkdir(parents=True)
    (own / "v9.0.0").mkdir()
    (own / "v1.0.0" / "cluster-template-mine.yaml").write_text("mine")
    assert run_without_loop(repository.file("v1.0.0", "cluster-template-mine.yaml")) == b"mine"
    assert run_without_loop(repository.file("v1.0.0", "metadata.yaml")) == METADATA
    assert run_without_loop(repository.files("v1.0.0")) == [
        "cluster-template-mine.yaml",
        "metadata.yaml",
    ]
    assert run_without_loop(repository.versions()) == ["v1.0.0"], (
        "overrides are files, not versions"
    )
    (own / "v1.0.0" / "c.yaml").write_text("mine")
    run_without_loop(repository.file("v1.0.0", "c.yaml"))
    of_ours = 'provider="infrastructure-herd" version="v1.0.0"'
    assert messages == [
        (1, f'Using override="cluster-template-mine.yaml" {of_ours}'),
        (0, f'Using override="c.yaml" {of_ours}'),
    ]


HEAVY = ("aiohttp", "asyncio", "msgspec", "cryptography")
READ = """
import sys
from kapy._aio.without_event_loop import run_without_loop
from kapy.clusterctl.config import load
from kapy.clusterctl.provider import Provider, ProviderType
from kapy.clusterctl.repository import repository_of
provider = Provider("herd", ProviderType.INFRASTRUCTURE, sys.argv[1])
repository = repository_of(provider, load(None, {"HOME": "/nowhere"}))
assert run_without_loop(repository.file("v1.0.0", "metadata.yaml"))
assert run_without_loop(repository.default_version()) == "v1.0.0"
print(*sorted(sys.modules))
"""


def test_a_local_folder_needs_no_network_settings(tmp_path: Path) -> None:
    url = f"{folder(tmp_path, 'v1.0.0')}/v1.0.0/c.yaml"
    command = [sys.executable, "-c", READ, url]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert not set(HEAVY).intersection(done.stdout.split())


@pytest.mark.parametrize(
    ("url", "near"),
    [("/r/a/v1.0.0/c", True), ("file:///r/a/v1.0.0/c", True), ("oci://r/a:v1.0.0", False)],
)
def test_only_folders_are_local(url: str, near: bool) -> None:
    assert is_local(url) is near


def test_cert_manager_is_in_a_folder_of_its_name(tmp_path: Path) -> None:
    place = tmp_path / "cert-manager" / "v1.21.1"
    place.mkdir(parents=True)
    (place / "cert-manager.yaml").write_text("x")
    url = f"{place}/cert-manager.yaml"
    repository = repository_at(url, "cert-manager", load(None, {"HOME": str(tmp_path)}))
    assert run_without_loop(repository.file("v1.21.1", repository.components_file)) == b"x"
