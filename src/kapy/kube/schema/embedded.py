"""Objects within objects (`x-kubernetes-embedded-resource`): they need apiVersion and kind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from kapy.kube import Document
from kapy.kube.field_errors import FieldError, Path, invalid, member, path_text, required
from kapy.kube.schema.node import Node

_OWN: Final = ("apiVersion", "kind", "metadata")


def embedded_errors(node: Node, value: Any, path: Path, errors: list[FieldError]) -> None:
    """Add the errors of a value's embedded objects."""
    if isinstance(value, dict):
        if node.embedded:
            _validate(value, path, errors)
        for name, inner in value.items():
            child = node.child(name)
            if child is not None and isinstance(inner, (dict, list)):
                embedded_errors(child, inner, member(path, name), errors)
    elif isinstance(value, list) and node.items is not None:
        for index, item in enumerate(value):
            embedded_errors(node.items, item, (path, index), errors)


def embedded_metadata(node: Node, value: Any, path: Path) -> Iterator[tuple[Path, str, Any]]:
    """Yield `apiVersion`, `kind` and `metadata` of embedded objects, with path and field name."""
    if isinstance(value, dict):
        if node.embedded:
            yield from ((path, name, value[name]) for name in _OWN if name in value)
        for name, inner in value.items():
            child = node.child(name)
            if child is not None and isinstance(inner, (dict, list)):
                yield from embedded_metadata(child, inner, (path, f".{name}"))
    elif isinstance(value, list) and node.items is not None:
        for index, item in enumerate(value):
            yield from embedded_metadata(node.items, item, (path, index))


def _validate(value: Document, path: Path, errors: list[FieldError]) -> None:
    for name in ("apiVersion", "kind"):
        result = value.get(name)
        if isinstance(result, str) and _is_good(name, result):
            continue
        field = path_text((path, f".{name}")).removeprefix(".")
        if name not in value:
            errors.append(required(field))
        elif not isinstance(result, str):
            errors.append(invalid(field, result, "must be a string"))
        elif not result:
            errors.append(invalid(field, result, "must not be empty"))
        elif name == "apiVersion":
            errors.append(invalid(field, result, f"unexpected GroupVersion string: {result}"))
        else:
            errors.append(invalid(field, result, _KIND))


def _is_good(name: str, text: str) -> bool:
    if name == "apiVersion":
        return bool(text) and text.count("/") <= 1
    return re.fullmatch("[a-z]([-a-z0-9]{0,61}[a-z0-9])?", text.lower()) is not None


_KIND = (
    "may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case "
    "alphanumeric characters or '-', start with an alphabetic character, and end with an "
    "alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
