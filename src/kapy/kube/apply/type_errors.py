"""Type errors of an applied configuration, with structured-merge-diff's messages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from kapy.kube import Document
from kapy.kube.apply.fields import element_text as element_spelled
from kapy.kube.apply.types import (
    STRING,
    InvalidItem,
    ListType,
    MapType,
    Scalar,
    Type,
    Untracked,
    item_key,
    resolve_deduced,
)
from kapy.kube.field_errors import Path, limit_messages, path_text
from kapy.kube.go_literals import go_text

_TWICE: Final = "duplicate entries for key"


def type_error_text(node: Type, value: Any, *, repeated: bool = False) -> str:
    """Return one text with all type errors; "" if there are none. repeated: lists may contain an
    item twice.
    """
    if fits(node, value, repeated=repeated):  # true for nearly all values
        return ""
    lines = list(
        limit_messages(
            error for error in _type_errors(node, value, "") if not (repeated and _TWICE in error)
        )
    )
    if len(lines) <= 1:
        return "".join(lines)
    return "\n".join(["errors:", *(f"  {line}" for line in lines)])


def fits(node: Type, value: Any, *, repeated: bool) -> bool:
    """Return whether a value has no type errors; faster than computing the messages.

    repeated: lists may contain an item twice.
    """
    if value is None:
        return True
    result = resolve_deduced(node, value)
    if isinstance(result, Scalar):
        return not _expected_type(result, value)
    if isinstance(result, MapType):
        return isinstance(value, dict) and _map_fits(result, value, repeated=repeated)
    if isinstance(result, ListType):
        return isinstance(value, list) and _list_fits(result, value, repeated=repeated)
    return result.what is None or fits(result.what, value, repeated=repeated)


def _map_fits(node: MapType, value: Document, *, repeated: bool) -> bool:
    members, others = node.members, node.element
    for name, inner in value.items():
        member = members.get(name, others)
        if member is STRING and inner.__class__ is str:
            continue
        if member is None or not fits(member, inner, repeated=repeated):
            return False
    return True


def _list_fits(node: ListType, value: list[Any], *, repeated: bool) -> bool:
    if node.keys is not None:
        try:
            keys = {item_key(node, item) for item in value}
        except InvalidItem:
            return False
        if not repeated and len(keys) < len(value):
            return False
    element = node.element
    return all(fits(element, item, repeated=repeated) for item in value)


def _type_errors(node: Type, value: Any, path: Path) -> Iterator[str]:
    result = resolve_deduced(node, value)
    if value is None:
        return
    if isinstance(result, Untracked) and result.what is not None:
        result = result.what
    if isinstance(result, MapType):
        yield from _map_type_errors(result, value, path)
    elif isinstance(result, ListType):
        yield from _list_type_errors(result, value, path)
    elif isinstance(result, Scalar) and (expected := _expected_type(result, value)):
        yield _error_at(path, expected)


def _error_at(path: Path, reason: str) -> str:
    return f"{path_text(path)}: {reason}" if path else reason


def _map_type_errors(node: MapType, value: Any, path: Path) -> Iterator[str]:
    if not isinstance(value, dict):
        yield _error_at(path, f"expected map, got &{{{go_text(value)}}}")
        return
    for name, inner in value.items():
        if not node.declares(name) and node.element is None:
            yield _error_at((path, f".{name}"), "field not declared in schema")
            return
        yield from _type_errors(node.type_of(name), inner, (path, f".{name}"))


def _list_type_errors(node: ListType, value: Any, path: Path) -> Iterator[str]:
    if not isinstance(value, list):
        yield _error_at(path, f"expected list, got &{{{go_text(value)}}}")
        return
    keys: set[str] = set()
    for index, item in enumerate(value):
        key = f"i:{index}"
        if node.keys is not None:
            try:
                key = item_key(node, item)
            except InvalidItem as error:
                yield _error_at(path, f"element {index}: {error}")
                return
            if key in keys:
                yield _error_at(path, f"{_TWICE} {element_spelled(key)}")
            keys.add(key)
        yield from _type_errors(node.element, item, (path, element_spelled(key)))


def _expected_type(node: Scalar, value: Any) -> str:
    match node.what:
        case "numeric":
            good = isinstance(value, (int, float)) and not isinstance(value, bool)
            return "" if good else f"expected numeric (int or float), got {_go_type(value)}"
        case "string":
            if isinstance(value, str):
                return ""
            return f"expected string, got &value.valueUnstructured{{Value:{_go_syntax(value)}}}"
        case "boolean":
            good = isinstance(value, bool)
            return "" if good else f"expected boolean, got &{{{go_text(value)}}}"
    good = not isinstance(value, (dict, list))
    return "" if good else f"expected any scalar, got &{{{go_text(value)}}}"


def _go_type(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, dict):
        return "map[string]interface {}"
    return "[]interface {}" if isinstance(value, list) else "string"


def _go_syntax(value: Any) -> str:
    """Return a value in Go's `%#v` format."""
    if isinstance(value, dict):
        inner = ", ".join(f"{json.dumps(key)}:{_go_syntax(value[key])}" for key in sorted(value))
        return f"map[string]interface {{}}{{{inner}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(_go_syntax, value))}}}"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return "interface {}(nil)" if value is None else go_text(value)
