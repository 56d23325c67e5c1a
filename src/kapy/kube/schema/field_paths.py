"""Paths of JSON to a field that a schema declares (`.spec.foo`, `.spec['a.b']`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kapy.kube import Document
from kapy.kube.errors import KapyError

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
