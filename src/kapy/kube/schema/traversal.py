"""Traversal of the JSON schemas of CustomResourceDefinitions, and look-up of the field that a path
names (`.spec.foo`, `.spec['a.b']`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from kapy.kube import Document
from kapy.kube.errors import KapyError

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


_TOKEN: Final = re.compile(r"'(?:[^'\\]|\\.)*'|[.\[\]]|[^.\[\]]+", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(.?)", re.DOTALL)
_UNESCAPED: Final = {"'": "'", "\\": "\\", "n": "\n", "r": "\r", "t": "\t", "a": "\a",
                 "b": "\b", "f": "\f", "v": "\v"}  # fmt: skip


class FieldPathError(KapyError):
    """A path does not name a field of the schema; the message is kube-apiserver's."""


def field_at(
    schema: Document, path: str, *, brackets: bool = True
) -> tuple[tuple[str, ...], Document | None]:
    """Return the names in a path, and its schema (None if unspecified). Raises FieldPathError.

    brackets: allow `['name']` instead of `.name`.
    """
    tokens = iter(_TOKEN.findall(path))
    names: list[str] = []
    result: Document | None = schema
    for token in tokens:
        if token == "[":
            if not brackets:
                raise FieldPathError("array notation is not allowed")
            name = _unquote(_next(tokens))
            result = _member(result, name)
            if (end := _next(tokens)) != "]":
                raise FieldPathError(f"expected ] but got {end}")
        elif token == ".":
            name = _next(tokens)
            result = _member(result, name)
        else:
            raise FieldPathError(f"expected [ or . but got: {token}")
        names.append(name)
    return tuple(names), result


def _next(tokens: Iterator[str]) -> str:
    token = next(tokens, None)
    if token is None:
        raise FieldPathError("unexpected end of JSON path")
    return token


def _unquote(token: str) -> str:
    if len(token) < 2 or token[0] != "'" or token[-1] != "'":
        raise FieldPathError(f"expected single quoted string but got {token}")
    for escape in _ESCAPE.findall(token[1:-1]):
        if escape not in _UNESCAPED:
            raise FieldPathError(f"invalid string literal: invalid escape char \\{escape}")
    return _ESCAPE.sub(lambda match: _UNESCAPED[match[1]], token[1:-1])


def _member(schema: Document | None, name: str) -> Document | None:
    properties = (schema or {}).get("properties")
    if properties:
        if name not in properties:
            raise FieldPathError("does not refer to a valid field")
        result: Document = properties[name]
        return result
    more = (schema or {}).get("additionalProperties")
    if more is None:
        raise FieldPathError("does not refer to a valid field")
    return more if isinstance(more, dict) else None
