"""The rules by which hooks evolve (Runtime SDK proposal, annex), as checks of a catalog.

1. Nothing is removed from a released version, or changed in it.
2. Requests convert down and responses up between a hook's versions, and back without loss.
3. A version is deprecated only in favour of one that is at least as stable.
4. After that it is supported for 12 months and 3 releases if it is stable, 6 and 2 if it is a beta.

    violations(catalog, read_snapshot("v1.14.0"), release="v1.15.0")     # sentences; none is good
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from datetime import date
from importlib.resources import files
from typing import Any, Final

import msgspec

from kapy.hooks.catalog import Catalog, minor_of, own_catalog, stability
from kapy.hooks.conversions import conversion_losses
from kapy.hooks.hook import AnyHook, Deprecation
from kapy.hooks.openapi.components import message_component
from kapy.hooks.openapi.document import openapi
from kapy.hooks.schema_changes import Part, changes
from kapy.kube import Document

_SUPPORT: Final[Mapping[int, tuple[int, int]]] = {0: (0, 0), 1: (6, 2), 2: (12, 3)}
"""Months and releases, by how stable a version is."""

_PARTS: Final[tuple[Part, ...]] = ("request", "response")


def snapshot(catalog: Catalog, release: str) -> Document:
    """Return the snapshot of a release: its hooks, and the schemas of their messages without
    descriptions.
    """
    document = openapi(catalog, release)
    return {
        "release": release,
        "hooks": [_hook_promise(hook) for hook in catalog],
        "schemas": _without_prose(document["components"]["schemas"]),
    }


def read_snapshot(release: str) -> Document:
    """Return the snapshot of a release. Raises FileNotFoundError if there is none."""
    text = files("kapy.hooks").joinpath("released", f"{release}.json").read_text()
    result: Document = msgspec.json.decode(text)
    return result


def violations(catalog: Catalog, before: Document, *, release: str) -> list[str]:
    """Return the violations of the rules, one sentence each.

    before: the snapshot of the last release. release: the one that will contain the catalog.
    """
    return [
        *_incompatible_changes(catalog, before, release),
        *(line for hook in catalog for line in conversion_losses(hook, catalog)),
        *(line for hook in catalog for line in _badly_deprecated(hook, catalog)),
    ]


def _hook_promise(hook: AnyHook) -> Document:
    deprecation = hook.deprecation
    return {
        "apiVersion": hook.api_version,
        "hook": hook.name,
        "request": message_component(hook, hook.request_kind),
        "response": message_component(hook, hook.response_kind),
        "lastRelease": deprecation.last_release if deprecation else None,
    }


def _incompatible_changes(catalog: Catalog, before: Document, release: str) -> Iterator[str]:
    after = snapshot(catalog, release)
    for hook in before["hooks"]:
        name = f"{hook['hook']} of {hook['apiVersion']}"
        if catalog.get(hook["apiVersion"], hook["hook"]) is None:
            last = hook["lastRelease"]
            if last is None or minor_of(last) >= minor_of(release):
                yield f"{name} was removed; it has to be deprecated, and supported for a time"
            continue
        for part in _PARTS:
            for line in changes(before["schemas"], after["schemas"], hook[part], part):
                yield f"{name}: {line}; a new version of the hook can change that"


def _badly_deprecated(hook: AnyHook, catalog: Catalog) -> Iterator[str]:
    deprecation = hook.deprecation
    if deprecation is None:
        return
    name = f"{hook.name} of {hook.api_version}"
    replacement = catalog.get(f"{hook.group}/{deprecation.replacement}", hook.name)
    if replacement is None:
        yield f"{name} is deprecated for {deprecation.replacement}, which is not there"
    elif stability(replacement.version) < stability(hook.version):
        yield f"{name} is deprecated for {deprecation.replacement}, which is less stable"
    months, releases = _SUPPORT[stability(hook.version)]
    if _months(deprecation) < months or _releases(deprecation) < releases:
        yield (
            f"{name} is supported for {_months(deprecation)} months and {_releases(deprecation)} "
            f"releases after its deprecation; {months} months and {releases} releases are promised"
        )


def _months(deprecation: Deprecation) -> int:
    since = date.fromisoformat(deprecation.since_date)
    until = date.fromisoformat(deprecation.removed_date)
    whole = (until.year - since.year) * 12 + until.month - since.month
    return whole - (until.day < since.day)


def _releases(deprecation: Deprecation) -> int:
    return minor_of(deprecation.last_release)[1] - minor_of(deprecation.since)[1]


def _without_prose(node: Any) -> Any:
    if isinstance(node, dict):
        return {
            key: _without_prose(value)
            for key, value in node.items()
            if not (key == "description" and isinstance(value, str))
        }
    return [_without_prose(item) for item in node] if isinstance(node, list) else node


def main(release: str) -> None:
    """Print the snapshot of a release, for `kapy/hooks/released`."""
    result = msgspec.json.encode(snapshot(own_catalog(), release), order="sorted")
    sys.stdout.write(f"{msgspec.json.format(result, indent=1).decode()}\n")


if __name__ == "__main__":
    main(sys.argv[1])
