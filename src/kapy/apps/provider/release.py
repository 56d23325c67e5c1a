"""A release of a provider: the files that users install from, the same for the same sources.

    <folder>/infrastructure-nimbus/v0.1.0/
        metadata.yaml  infrastructure-components.yaml
        cluster-template.yaml  cluster-template-<flavor>.yaml  clusterclass-<name>.yaml
        README.md       variables, flavors and classes

Contract: "Provider repositories" of the clusterctl provider contract.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from kapy.apps.provider.components import components_of
from kapy.clusterctl.components import INVENTORY_VERSION
from kapy.clusterctl.manifests import BadManifest, objects_of
from kapy.clusterctl.variables import replace_variables, variables_of
from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.kube.nested import value_at
from kapy.kube.yaml import dump, dump_all
from kapy.sdk.provider import Provider

_TEMPLATE: Final = "cluster-template"
_CLASS: Final = "clusterclass-"


def page_of(provider: Provider, version: str, files: Mapping[str, str]) -> str:
    """Return the page as Markdown. files: the text of each file by its name."""
    return "\n".join(_page(provider, version, files)) + "\n"


def _page(provider: Provider, version: str, files: Mapping[str, str]) -> Iterator[str]:
    yield f"# {provider.label} {version}"
    yield from ("", "## Installing", "")
    yield f"`kapy init --{provider.type} {provider.name}:{version}`"
    if provider.settings:
        yield from ("", "| variable | default | for |", "|---|---|---|")
        for setting in provider.settings:
            default = "(to be set)" if setting.default is None else f"`{setting.default}`"
            yield f"| `{setting.name}` | {default} | {setting.description} |"
    templates = {name: text for name, text in files.items() if name.startswith(_TEMPLATE)}
    if templates:
        yield from ("", "## Flavors", "")
        for name, text in sorted(templates.items(), key=lambda entry: len(entry[0])):
            yield from _flavor(name, text)
    classes = {name: text for name, text in files.items() if name.startswith(_CLASS)}
    if classes:
        yield from ("", "## ClusterClasses")
        for name, text in classes.items():
            yield from _class(name, text)


def _flavor(name: str, text: str) -> Iterator[str]:
    flavor = name.removeprefix(_TEMPLATE).removeprefix("-").removesuffix(".yaml").lstrip(".")
    option = f" --flavor {flavor}" if flavor else ""
    yield f"### {flavor or 'the usual one'}"
    yield from ("", f"`kapy generate cluster NAME{option}` (`{name}`)", "")
    yield from ("| variable | default |", "|---|---|")
    for variable, default in variables_of(text).items():
        yield f"| `{variable}` | {'(to be set)' if default is None else f'`{default}`'} |"
    yield ""


def _class(name: str, text: str) -> Iterator[str]:
    yield from ("", f"### {name.removeprefix(_CLASS).removesuffix('.yaml')}", "", f"`{name}`")
    variables = list(_class_variables(name, text))
    if variables:
        yield from ("", "| variable | type | default | for |", "|---|---|---|---|")
        yield from variables


def _class_variables(name: str, text: str) -> Iterator[str]:
    for obj in _objects(name, text):
        if obj.get("kind") != "ClusterClass":
            continue
        for variable in value_at(obj, ("spec", "variables")) or ():
            schema = value_at(variable, ("schema", "openAPIV3Schema")) or {}
            default = f"`{schema['default']}`" if "default" in schema else ""
            must = " (to be set)" if variable.get("required") and not default else ""
            yield (
                f"| `{variable.get('name')}` | {schema.get('type', '')} | {default}{must} | "
                f"{schema.get('description', '')} |"
            )


def _objects(name: str, text: str) -> list[dict[str, Any]]:
    try:
        needed = {key: "1" for key, default in variables_of(text).items() if default is None}
        return objects_of(replace_variables(text, needed), name)
    except BadManifest:
        return []  # `kapy conformance check` reports it, with the line


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
