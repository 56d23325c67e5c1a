"""Compare a message's schema between two releases for removals and changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, TypeAlias

from kapy.kube import Document

Schemas: TypeAlias = Mapping[str, Document]
Part: TypeAlias = Literal["request", "response"]


def changes(before: Schemas, after: Schemas, component: str, part: Part) -> Iterator[str]:
    """Return one sentence for each field that was removed, has another type, or became required.

    A request may get new fields that are always present; in a response a new required field would
    break existing extensions.
    """
    yield from _of_component(before, after, component, part, set())


def _of_component(
    before: Schemas, after: Schemas, component: str, part: Part, components: set[str]
) -> Iterator[str]:
    if component in components:
        return
    components.add(component)
    old, new = before[component], after.get(component)
    short = component.rpartition(".")[2]
    if new is None:
        yield f"{short} was removed"
        return
    yield from _requirements(old, new, short, part)
    for name, field in old.get("properties", {}).items():
        there = new.get("properties", {}).get(name)
        if there is None:
            yield f"{short}.{name} was removed"
        elif there != field:
            yield f"{short}.{name} was {field} and is {there}"
        else:
            for inner in _references(field):
                yield from _of_component(before, after, inner, part, components)


def _requirements(old: Document, new: Document, short: str, part: Part) -> Iterator[str]:
    needed, still = set(old.get("required", ())), set(new.get("required", ()))
    if part == "request":
        for name in sorted(needed - still):
            yield f"{short}.{name} was always there and need not be"
    else:
        for name in sorted(still - needed):
            yield f"{short}.{name} is required and was not"


def _references(field: Document) -> Iterator[str]:
    for schema in (field, field.get("items"), field.get("additionalProperties")):
        if isinstance(schema, dict) and "$ref" in schema:
            yield schema["$ref"].rpartition("/")[2]
