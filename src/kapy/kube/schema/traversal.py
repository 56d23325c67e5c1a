"""Walking through a JSON schema document as a CustomResourceDefinition holds it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from kapy.kube import Document

JUNCTORS: Final = ("allOf", "anyOf", "oneOf")
_MAPS: Final = ("properties", "patternProperties", "definitions", "dependencies")
_BELOW: Final = frozenset(
    (*JUNCTORS, *_MAPS, "additionalProperties", "additionalItems", "items", "not")
)


def items_schema(schema: Document) -> Document | None:
    """Return the schema of all items, None if there is none (or a list of schemas)."""
    items = schema.get("items")
    return items if isinstance(items, dict) else None


def additional_schema(schema: Document) -> Document | None:
    """Return the schema of additional properties, None if there is none (or a boolean)."""
    more = schema.get("additionalProperties")
    return more if isinstance(more, dict) else None


def schemas_below(schema: Document) -> Iterator[Document]:
    """Yield the direct sub-schemas of a schema."""
    if _BELOW.isdisjoint(schema):
        return
    for name in _MAPS:
        for value in (schema.get(name) or {}).values():
            if isinstance(value, dict):
                yield value
    for name in ("additionalProperties", "additionalItems", "items", "not"):
        result: Any = schema.get(name)
        for item in result if isinstance(result, list) else (result,):
            if isinstance(item, dict):
                yield item
    for name in JUNCTORS:
        yield from schema.get(name) or ()


def any_schema(schema: Document, test: Callable[[Document], bool]) -> bool:
    """Report whether a predicate holds for a schema or one of its descendants."""
    return test(schema) or any(any_schema(item, test) for item in schemas_below(schema))
