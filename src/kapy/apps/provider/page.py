"""The README of a release: its variables, flavors and classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kapy.clusterctl.manifests import BadManifest, objects_of
from kapy.clusterctl.variables import replace_variables, variables_of
from kapy.kube.nested import value_at
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
