"""Makes a bundle usable: as a folder repository or in a registry, with a matching configuration."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from kapy.clusterctl.atomic_file import atomic_write
from kapy.clusterctl.bounded_gather import bounded_gather
from kapy.clusterctl.bundle import CERT_MANAGER, IMAGE_LIST, Bundle, Release
from kapy.clusterctl.bundle.file import artifact_of
from kapy.clusterctl.config import Config
from kapy.clusterctl.errors import BundleError
from kapy.clusterctl.oci.credentials import credentials_of
from kapy.clusterctl.oci.registry import Registry
from kapy.clusterctl.progress import Progress
from kapy.clusterctl.repository.oci import tag_of
from kapy.clusterctl.repository.web import WebClient
from kapy.kube import yaml

_MARK: Final = "# Written by `kapy bundle load`, which may write it again.\n"
_MAX_CONCURRENT: Final = 4


def unpack(bundle: Bundle, folder: Path, progress: Progress) -> None:
    """Write the releases and the image list below a folder; existing files stay.

    A repeated call completes an interrupted one. Raises BundleError.
    """
    for release in bundle.releases:
        progress("Unpacking", provider=release.label, version=release.version)
        for name, content in release.files.items():
            _write_file(folder / release.label / release.version / name, content)
    _write_file(folder / IMAGE_LIST, "".join(f"{image}\n" for image in bundle.images).encode())


async def push(bundle: Bundle, place: str, config: Config, progress: Progress) -> None:
    """Push the releases to a registry, as `<place>/<label>:<version>`.

    place: `oci://registry/prefix`. Raises BundleError, RepositoryError.
    """
    parts = urlsplit(place)
    if parts.scheme not in ("oci", "oci+http") or not parts.netloc:
        raise BundleError(f'"{place}" is no place in a registry: write it as oci://registry/prefix')
    base = f"{'http' if parts.scheme == 'oci+http' else 'https'}://{parts.netloc}"
    credentials = credentials_of(config.variables)

    async def push_release(release: Release) -> None:
        name = f"{parts.path}/{release.label}".strip("/").replace("//", "/")
        progress("Pushing", provider=release.label, version=release.version)
        registry = Registry(base, name, WebClient(), credentials)
        await registry.push(artifact_of(release), tag_of(release.version))

    await bounded_gather(
        (partial(push_release, release) for release in bundle.releases), at_once=_MAX_CONCURRENT
    )


def bundle_settings(bundle: Bundle, place: str, *, image_repository: str = "") -> dict[str, Any]:
    """Return the configuration that uses the releases at a place (a folder, or `oci://…`).

    image_repository: the registry to which the images were mirrored, if any.
    """
    place = place.rstrip("/")
    result: dict[str, Any] = {
        "providers": [
            {
                "name": item.provider.name,
                "type": item.provider.type.value,
                "url": f"{place}/{item.label}/latest/{item.components_file}",
            }
            for item in bundle.releases
            if item.provider is not None
        ]
    }
    for release in bundle.releases:
        if release.label == CERT_MANAGER:
            url = f"{place}/{release.label}/{release.version}/{release.components_file}"
            result[CERT_MANAGER] = {"url": url, "version": release.version}
    if image_repository:
        result["images"] = {"all": {"repository": image_repository}}
    return result


def configure(settings: Mapping[str, Any], usual: Path, fallback: Path) -> Path:
    """Write settings into the usual configuration file if kapy wrote it or it does not exist, else
    into `fallback`.

    Returns the file. Settings of an earlier bundle stay unless they are set again. Raises
    BundleError.
    """
    path = usual if not usual.exists() or _is_bundle_folder(usual) else fallback
    before: dict[str, Any] = {}
    if _is_bundle_folder(path):
        with suppress(yaml.YamlError):
            before = yaml.load(path.read_bytes()) or {}
    new = {(provider["name"], provider["type"]) for provider in settings["providers"]}
    other_providers = [
        provider
        for provider in before.get("providers", ())
        if (provider["name"], provider["type"]) not in new
    ]
    result = {**before, **settings, "providers": [*other_providers, *settings["providers"]]}
    _write_file(path, (_MARK + yaml.dump(result)).encode())
    return path


def _is_bundle_folder(path: Path) -> bool:
    try:
        return path.read_bytes().startswith(_MARK.encode())
    except OSError:
        return False


def _write_file(path: Path, content: bytes) -> None:
    try:
        with atomic_write(path) as file:
            file.write(content)
    except OSError as error:
        raise BundleError(
            f"{path} cannot be written: {error.strerror or error}; free some space there, or name "
            "another place; what is complete already stays"
        ) from error
