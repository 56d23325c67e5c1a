"""A release of a provider: the files that users install from, the same for the same sources.

    <folder>/infrastructure-nimbus/v0.1.0/
        metadata.yaml  infrastructure-components.yaml
        cluster-template.yaml  cluster-template-<flavor>.yaml  clusterclass-<name>.yaml
        README.md       variables, flavors and classes

Contract: "Provider repositories" of the clusterctl provider contract.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from kapy.apps.provider.components import components_of
from kapy.apps.provider.page import page_of
from kapy.clusterctl.components import INVENTORY_VERSION
from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.kube.yaml import dump, dump_all
from kapy.sdk.provider import Provider

_VERSION: Final = re.compile(r"v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?")


class CannotRelease(KapyError):
    """The release cannot be created; the message tells what to change."""


def files_of(provider: Provider, version: str, image: str = "") -> dict[str, str]:
    """Return the text of each file by its name. image: replaces the provider's own image. Raises
    CannotRelease and BadProvider.
    """
    files = {
        "metadata.yaml": dump(_metadata(provider, version)),
        f"{provider.type}-components.yaml": dump_all(components_of(provider, version, image)),
        **_own_files(provider.files),
    }
    return {**files, "README.md": page_of(provider, version, files)}


def write_release(provider: Provider, version: str, folder: Path, image: str = "") -> Path:
    """Write `<label>/<version>/` below a folder, and return it. image: as for `files_of`. Raises
    CannotRelease and BadProvider.
    """
    files = files_of(provider, version, image)
    place = folder / provider.label / version
    try:
        place.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (place / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise CannotRelease(f"cannot write {place}: {error.strerror or error}") from None
    return place


def _metadata(provider: Provider, version: str) -> Document:
    match = _VERSION.fullmatch(version)
    if match is None:
        raise CannotRelease(f"{version!r} is no version of a release: say one like v0.1.0")
    series = f"v{match[1]}.{match[2]}"
    if series not in provider.series:
        series_names = ", ".join(provider.series) or "none"
        raise CannotRelease(
            f"nobody knows which contract {series} keeps to: add it to `series` of the Provider, "
            f'as "{series}": "v1beta2" (there: {series_names})'
        )
    return {
        "apiVersion": INVENTORY_VERSION,
        "kind": "Metadata",
        "releaseSeries": [_series(*entry) for entry in provider.series.items()],
    }


def _series(name: str, contract: str) -> Document:
    try:
        major, minor = map(int, name.removeprefix("v").split("."))
    except ValueError:
        raise CannotRelease(
            f"{name!r} in `series` of the Provider is no minor version: say one like v0.1"
        ) from None
    return {"major": major, "minor": minor, "contract": contract}


def _own_files(folder: Path | None) -> dict[str, str]:
    """Return the author's templates and classes."""
    if folder is None:
        return {}
    try:
        paths = sorted(folder.glob("cluster*.yaml"))
        return {path.name: path.read_text(encoding="utf-8") for path in paths}
    except (OSError, UnicodeDecodeError) as error:
        raise CannotRelease(f"cannot read the files in {folder}: {error}") from None
