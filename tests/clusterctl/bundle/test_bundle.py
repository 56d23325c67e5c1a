"""Bundles: what goes in comes out, somewhere else, and everything works from it."""

from __future__ import annotations

import errno
import os
import tarfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from kapy.client.blocking import run_without_loop
from kapy.clusterctl.bundle import Bundle
from kapy.clusterctl.bundle.file import open_bundle, save
from kapy.clusterctl.bundle.gathering import gather_bundle
from kapy.clusterctl.bundle.loading import bundle_settings, configure, push, unpack
from kapy.clusterctl.config import Config, load
from kapy.clusterctl.errors import BundleError, FileMissing
from kapy.clusterctl.install.requested_providers import RequestedProviders
from kapy.clusterctl.oci.artifact import pack
from kapy.clusterctl.oci.credentials import Credentials
from kapy.clusterctl.oci.layout import write
from kapy.clusterctl.oci.registry import Registry as Client
from kapy.clusterctl.progress import no_progress
from kapy.clusterctl.provider import ProviderType
from kapy.clusterctl.repository import repository_at, repository_of
from kapy.clusterctl.repository.web import WebClient
from kapy.kube import yaml
from tests.clusterctl.repository.servers import Registry, serving
from tests.clusterctl.repository.test_folders import METADATA

COMPONENTS = """
apiVersion: apps/v1
kind: Deployment
metadata: {{name: controller}}
spec:
  template:
    spec:
      containers:
      - {{name: manager, image: "registry.invalid/herd/{name}:${{TAG:=v1.0.0}}"}}
"""
PLACES = {
    "cluster-api": "core-components.yaml",
    "bootstrap-kubeadm": "bootstrap-components.yaml",
    "control-plane-kubeadm": "control-plane-components.yaml",
    "infrastructure-herd": "herd.yaml",
    "cert-manager": "cert-manager.yaml",
}


def releases(folder: Path) -> Config:
    """A folder repository of some providers and of cert-manager, and its configuration."""
    for label, file in PLACES.items():
        place = folder / label / "v1.2.0"
        place.mkdir(parents=True)
        (place / file).write_text(COMPONENTS.format(name=label))
        (place / "metadata.yaml").write_bytes(METADATA)
        (place / "cluster-template-small.yaml").write_text("kind: Cluster")
        (place / "clusterclass-small.yaml").write_text("kind: ClusterClass")
        (place / "clusterctl-linux-amd64").write_text("no file of a provider")
    types = {"cluster-api": "Core", "bootstrap-kubeadm": "Bootstrap"}
    types |= {"control-plane-kubeadm": "ControlPlane", "infrastructure-herd": "Infrastructure"}
    providers = [
        {
            "name": label.removeprefix("bootstrap-")
            .removeprefix("control-plane-")
            .removeprefix("infrastructure-"),
            "type": f"{kind}Provider",
            "url": f"{folder}/{label}/latest/{PLACES[label]}",
        }
        for label, kind in types.items()
    ]
    cert_manager = {"url": f"{folder}/cert-manager/v1.2.0/cert-manager.yaml", "version": "v1.2.0"}
    path = folder / "clusterctl.yaml"
    path.write_text(yaml.dump({"providers": providers, "cert-manager": cert_manager}))
    return load(str(path), {"HOME": str(folder)})


def unfinished(folder: Path) -> list[Path]:
    return list(folder.rglob("*unfinished*"))


async def bundle_of(folder: Path) -> Bundle:
    providers = RequestedProviders({ProviderType.INFRASTRUCTURE: ("herd",)})
    return await gather_bundle(providers, releases(folder), no_progress, digests=False)


async def test_a_bundle_has_exactly_the_needed_files(tmp_path: Path) -> None:
    bundle = await bundle_of(tmp_path)
    assert [release.label for release in bundle.releases] == list(PLACES)
    assert {release.label: sorted(release.files) for release in bundle.releases} == {
        "cluster-api": ["core-components.yaml", "metadata.yaml"],
        "bootstrap-kubeadm": ["bootstrap-components.yaml", "metadata.yaml"],
        "control-plane-kubeadm": ["control-plane-components.yaml", "metadata.yaml"],
        "infrastructure-herd": [
            "cluster-template-small.yaml",
            "clusterclass-small.yaml",
            "herd.yaml",
            "metadata.yaml",
        ],
        "cert-manager": ["cert-manager.yaml"],
    }
    assert bundle.images == tuple(
        sorted(f"registry.invalid/herd/{place}:v1.0.0" for place in PLACES)
    )
    assert bundle.without_digest == list(bundle.images)


async def test_a_saved_bundle_can_be_opened_and_is_reproducible(
    tmp_path: Path,
) -> None:
    bundle = await bundle_of(tmp_path / "a")
    save(bundle, tmp_path / "one.tar")
    save(await bundle_of(tmp_path / "b"), tmp_path / "two.tar")
    assert (tmp_path / "one.tar").read_bytes() == (tmp_path / "two.tar").read_bytes()
    again = open_bundle(tmp_path / "one.tar")
    assert again.images == bundle.images
    for read, written in zip(again.releases, bundle.releases, strict=True):
        assert (read.label, read.version) == (written.label, written.version)
        assert read.files == written.files
        assert read.components_file == written.components_file
    assert unfinished(tmp_path) == []


async def test_everything_works_from_a_bundle_that_was_loaded(tmp_path: Path) -> None:
    save(await bundle_of(tmp_path / "there"), tmp_path / "b.tar")
    bundle, place = open_bundle(tmp_path / "b.tar"), tmp_path / "here"
    unpack(bundle, place, no_progress)
    settings = bundle_settings(bundle, str(place), image_repository="mirror.local/herd")
    path = configure(settings, tmp_path / "usual.yaml", place / "clusterctl.yaml")
    assert path == tmp_path / "usual.yaml"
    config = load(str(path), {"HOME": str(tmp_path)})
    for release in bundle.releases:
        if release.provider is None:
            repository = repository_at(config.cert_manager.url, "cert-manager", config)
        else:
            provider = config.provider(release.provider.name, release.provider.type)
            repository = repository_of(provider, config)
            # The loaded metadata says that 1.2 keeps to this contract.
            assert run_without_loop(repository.default_version()) == "v1.2.0"
        for name, content in release.files.items():
            assert run_without_loop(repository.file("v1.2.0", name)) == content
    assert config.cert_manager.version == "v1.2.0"
    assert config.images.override("x", bundle.images[0]).startswith("mirror.local/herd/")
    assert (place / "images.txt").read_text().splitlines() == list(bundle.images)


@pytest.mark.sockets
async def test_everything_works_from_a_bundle_that_was_pushed(tmp_path: Path) -> None:
    registry = Registry()
    async with serving(registry.server()) as server:
        host = server.url.removeprefix("http://")
        bundle = await bundle_of(tmp_path / "there")
        place = f"oci+http://{host}/mirror/capi/"
        await push(bundle, place, load(None, {"HOME": "/nowhere"}), no_progress)
        path = tmp_path / "clusterctl.yaml"
        path.write_text(yaml.dump(bundle_settings(bundle, place)))
        config = load(str(path), {"HOME": str(tmp_path), "KAPY_CACHE": "off"})
        provider = config.provider("herd", ProviderType.INFRASTRUCTURE)
        repository = repository_of(provider, config)
        assert await repository.default_version() == "v1.2.0"
        assert b"registry.invalid" in await repository.file("v1.2.0", "herd.yaml")
        assert await repository.file("v1.2.0", "cluster-template-small.yaml") == b"kind: Cluster"
        result = repository_at(config.cert_manager.url, "cert-manager", config)
        assert await result.file("v1.2.0", result.components_file)
    assert {key.partition(":")[0] for key in registry.manifests} == {
        f"mirror/capi/{label}" for label in PLACES
    }
    with pytest.raises(BundleError, match="write it as oci://registry/prefix"):
        await push(bundle, "registry.local/x", config, no_progress)


async def test_a_provider_without_a_file_that_it_needs_makes_no_bundle(tmp_path: Path) -> None:
    config = releases(tmp_path)
    (tmp_path / "infrastructure-herd" / "v1.2.0" / "herd.yaml").unlink()
    providers = RequestedProviders({ProviderType.INFRASTRUCTURE: ("herd",)})
    with pytest.raises(FileMissing, match=r"herd\.yaml: no such file or directory"):
        await gather_bundle(providers, config, no_progress, digests=False)


OURS = {"providers": [{"name": "herd", "type": "AddonProvider", "url": "/new"}]}


def test_a_configuration_of_the_user_s_own_is_not_touched(tmp_path: Path) -> None:
    usual, beside = tmp_path / "clusterctl.yaml", tmp_path / "repository" / "clusterctl.yaml"
    usual.write_text("TOKEN: secret # mine\n")
    assert configure(OURS, usual, beside) == beside
    assert usual.read_text() == "TOKEN: secret # mine\n"
    assert yaml.load(beside.read_text()) == OURS


def test_a_second_bundle_adds_to_the_configuration_of_the_first(tmp_path: Path) -> None:
    usual, beside = tmp_path / "clusterctl.yaml", tmp_path / "other.yaml"
    cow = {"name": "cow", "type": "AddonProvider", "url": "/cow"}
    old = {"name": "herd", "type": "AddonProvider", "url": "/old"}
    images = {"all": {"repository": "mirror.local"}}
    configure({"providers": [cow, old], "images": images}, usual, beside)
    assert configure(OURS, usual, beside) == usual
    assert yaml.load(usual.read_text()) == {
        "images": images,
        "providers": [cow, *OURS["providers"]],
    }


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:4000])


def changed(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"registry.invalid", b"registry.invalix"))


def no_tar(path: Path) -> None:
    path.write_text("kind: Herd\n" * 1000)


def another_tar(path: Path) -> None:
    with tarfile.open(path, "w") as tar:
        tar.add(__file__, "a.py")


def without_releases(path: Path) -> None:
    write(path, [])


def with_a_way_out(path: Path) -> None:
    write(path, [(pack({"../../escaped.yaml": b"x"}), {})])


def of_an_odd_provider(path: Path) -> None:
    messages = ("label", "provider-name", "provider-type", "version", "components-file")
    values = ("../herd", "herd", "AddonProvider", "v1.0.0", "c.yaml")
    keys = (f"kapy.cluster.x-k8s.io/{text}" for text in messages)
    write(path, [(pack({"c.yaml": b"x"}), dict(zip(keys, values, strict=True)))])


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (truncated, "is no bundle, or damaged"),
        (changed, "is damaged: it has other content for sha256"),
        (no_tar, "is no bundle, or damaged"),
        (another_tar, "is no bundle: it has no oci-layout"),
        (without_releases, "has no provider in it"),
        (with_a_way_out, '"../../escaped.yaml" is no name of a file'),
        (of_an_odd_provider, r"\.\./herd v1\.0\.0 is no release"),
        (Path.unlink, "cannot be read: No such file"),
    ],
)
async def test_a_file_that_is_no_whole_bundle_is_reported(
    tmp_path: Path, harm: Callable[[Path], None], said: str
) -> None:
    path = tmp_path / "b.tar"
    save(await bundle_of(tmp_path / "there"), path)
    harm(path)
    with pytest.raises(BundleError, match=said):
        open_bundle(path)


async def test_a_full_disk_leaves_the_old_bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "b.tar"
    path.write_text("before")
    bundle = await bundle_of(tmp_path / "there")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tarfile.TarFile, "addfile", full)
    with pytest.raises(BundleError, match=r"No space left on device; free some space there"):
        save(bundle, path)
    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(BundleError, match="No space left on device; free some space there"):
        unpack(bundle, tmp_path / "here", no_progress)
    assert path.read_text() == "before"
    assert unfinished(tmp_path) == []


@pytest.mark.sockets
async def test_registries_are_asked_for_the_digests_of_images(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry, providers = Registry(), RequestedProviders({ProviderType.INFRASTRUCTURE: ("herd",)})
    async with serving(registry.server()) as server:
        client = Client(server.url, "herd/cluster-api", WebClient(()), Credentials())
        await client.push(pack({"a": b"x"}), "v1.0.0")
        # Registries of images are reached over TLS, which this one has not.
        there = partial(_at, server.url)
        monkeypatch.setattr("kapy.clusterctl.bundle.gathering.Registry", there)
        bundle = await gather_bundle(providers, releases(tmp_path), no_progress)
    digest = pack({"a": b"x"}).descriptor().digest
    assert f"registry.invalid/herd/cluster-api:v1.0.0@{digest}" in bundle.images
    assert len(bundle.without_digest) == len(PLACES) - 1, "who does not answer leaves it open"


def _at(url: str, base: str, name: str, web: WebClient, credentials: Credentials) -> Client:
    assert base == "https://registry.invalid"
    return Client(url, name, web, credentials)
