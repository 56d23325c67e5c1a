"""Find fields that a structural schema does not know and that API servers drop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kapy.kube.digits import has_only_digits

_KEEPS: Final = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_OF_ALL: Final = frozenset({"apiVersion", "kind", "metadata"})
"""Fields of every object, which schemas do not have to name."""
_VARIABLE: Final = "${"


def unknown(schema: Mapping[str, Any], document: Any) -> Iterator[str]:
    """Return the paths of an object's fields that its schema does not know.

    Values that variables stand for are not checked.
    """
    if isinstance(document, dict) and "properties" in schema and "kind" in document:
        document = {name: value for name, value in document.items() if name not in _OF_ALL}
    yield from _below(schema, document, "")


def _below(node: Mapping[str, Any], value: Any, path: str) -> Iterator[str]:
    if isinstance(value, list):
        items = node.get("items")
        if isinstance(items, dict):
            for place, item in enumerate(value):
                yield from _below(items, item, f"{path}[{place}]")
    elif isinstance(value, dict) and not node.get(_EMBEDDED):
        for name, element in value.items():
            if not isinstance(name, str) or _VARIABLE in name:
                continue
            at = f"{path}.{name}" if path else name
            below = _property(node, name)
            if below is None:
                yield at
            else:
                yield from _below(below, element, at)


_ANY: Final[Mapping[str, Any]] = {_KEEPS: True}


def _property(node: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    """Return the schema of a field; None if it is not known."""
    properties = node.get("properties")
    if isinstance(properties, dict) and name in properties:
        result = properties[name]
        return result if isinstance(result, dict) else _ANY
    more = node.get("additionalProperties")
    if isinstance(more, dict):
        return more
    is_object = node.get("type") in ("object", None)
    return _ANY if more or node.get(_KEEPS) or not is_object else None


def node_below(schema: Mapping[str, Any], parts: Sequence[str]) -> Mapping[str, Any] | None:
    """Return the schema at a JSON pointer; None if there is none."""
    node: Mapping[str, Any] = schema
    for part in parts:
        items = node.get("items")
        if isinstance(items, dict) and (part == "-" or has_only_digits(part)):
            node = items
            continue
        below = _property(node, part)
        if below is None:
            return None
        node = below
    return node
