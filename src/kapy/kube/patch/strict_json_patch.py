"""JSON patch (RFC 6902) as Cluster API applies it to templates and in-place updates.

Closer to the RFC than kube-apiserver's (`json_patch`): only what is there can be replaced, moved or
copied. Where upstream's library departs from the RFC, so does this: indexes may be negative or have
leading zeros, and a last token that is empty means the container itself when it is read. What a
patch says is checked once, when it is compiled, so that it can be applied many times.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from msgspec.json import Encoder

from kapy.kube.errors import KapyError
from kapy.kube.json_numbers import fitting
from kapy.kube.patch.pointer import (
    Inapplicable,
    adding,
    edited,
    identical,
    member,
    replacing,
    tokens_of,
    without,
)

Pointer = tuple[str, ...]

COPY_LIMIT: Final = 3 * 1024 * 1024
"""Bytes that all copies of one patch may add; few could double a document again and again."""

_VALUED: Final = ("add", "replace")
_MOVED: Final = ("move", "copy")
_encode = Encoder().encode


class BadPatch(KapyError):
    """A patch says nothing that could be applied, or does not apply; it has changed nothing."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One change. path and source: as they were given; source: the `from` of a move or copy."""

    op: str
    path: str
    value: Any = None
    source: str = ""
    tokens: Pointer = ()
    source_tokens: Pointer = ()


def operation(op: str, path: str, value: Any = None, source: str = "") -> Operation:
    """An operation with its pointers read. Raises BadPatch when nothing is done like that."""
    if op not in (*_VALUED, *_MOVED, "remove", "test"):
        raise BadPatch(f'"{op}" is no operation of a JSON patch')
    return Operation(op, path, fitting(value), source, _tokens(path), _tokens(source))


def compiled(patch: Any) -> list[Operation]:
    """The operations of a patch; none of null. Raises BadPatch."""
    if patch is None:
        return []
    if not isinstance(patch, list) or not all(isinstance(one, dict) for one in patch):
        raise BadPatch("a JSON patch is a list of operations, each an object")
    return [_read(number, one) for number, one in enumerate(patch)]


def _read(number: int, given: dict[str, Any]) -> Operation:
    op, path, source = given.get("op"), given.get("path"), given.get("from")
    if not isinstance(op, str):
        raise BadPatch(f"operation {number} does not say what it does (`op`)")
    if not isinstance(path, str):
        raise BadPatch(f"operation {number} ({op}) has no `path`")
    if op in _VALUED and "value" not in given:
        raise BadPatch(f"operation {number} ({op} {path}) has no `value`")
    if op in _MOVED and not isinstance(source, str):
        raise BadPatch(f"operation {number} ({op} {path}) has no `from`")
    return operation(op, path, given.get("value"), source if isinstance(source, str) else "")


def _tokens(pointer: str) -> Pointer:
    """An empty token within a pointer leads nowhere else."""
    tokens = tokens_of(pointer)
    return (*filter(None, tokens[:-1]), *tokens[-1:])


def apply(document: Any, operations: Iterable[Operation]) -> Any:
    """`document` after all operations, sharing what they left alone.

    Raises BadPatch, which names the operation, when one does not apply or copies too much.
    """
    copied = 0
    for one in operations:
        try:
            if one.op == "copy":
                copied += len(_encode(_source(document, one)))
            document = _applied(document, one)
        except Inapplicable:
            raise BadPatch(_problem(document, one)) from None
        if copied > COPY_LIMIT:
            raise BadPatch(f"the copies of one patch may add {COPY_LIMIT} bytes, not {copied}")
    return document


def _applied(document: Any, one: Operation) -> Any:
    if one.path == "":
        return _whole(document, one)
    if not one.tokens:
        raise Inapplicable
    match one.op:
        case "add":
            return edited(document, one.tokens, adding(one.value))
        case "remove":
            return edited(document, one.tokens, without)
        case "replace":
            _found(document, one.tokens)
            return edited(document, one.tokens, replacing(one.value))
        case "move":
            rest = edited(document, one.source_tokens, without) if one.source_tokens else document
            return edited(rest, one.tokens, adding(_source(document, one)))
        case "copy":
            return edited(document, one.tokens, adding(_source(document, one)))
    if not identical(_tested(document, one.tokens), one.value):
        raise Inapplicable
    return document


def _whole(document: Any, one: Operation) -> Any:
    """What an operation on everything gives; moving or copying there is a member called ""."""
    if one.op in _VALUED and isinstance(one.value, (dict, list)):
        return one.value
    if one.op in _MOVED and isinstance(document, dict):
        value = _source(document, one)
        rest = edited(document, one.source_tokens, without) if one.op == "move" else document
        return {**rest, "": value}
    if one.op == "remove":
        return without(document, "")
    if one.op == "test" and identical(document, one.value):
        return document
    raise Inapplicable


def _source(document: Any, one: Operation) -> Any:
    if one.source == "" and one.op == "copy":
        return document
    if not one.source_tokens:
        raise Inapplicable
    return _found(document, one.source_tokens)


def _found(document: Any, tokens: Pointer) -> Any:
    for token in tokens[:-1]:
        document = member(document, token)
    if tokens[-1] == "" and isinstance(document, (dict, list)):
        return document
    return member(document, tokens[-1])


def _tested(document: Any, tokens: Pointer) -> Any:
    """As _found, but a member that a map does not have is null."""
    for token in tokens[:-1]:
        document = member(document, token)
    if isinstance(document, dict) and tokens[-1] and tokens[-1] not in document:
        return None
    return _found(document, tokens[-1:])


def _problem(document: Any, one: Operation) -> str:
    asked = f"{one.op} {one.path}"
    if one.op in _MOVED:
        asked = f"{one.op} {one.source} to {one.path}"
    if one.op == "test":
        return f"{asked}: the value there is another one, or none"
    missing = _first_missing(document, one.tokens[:-1] if one.op == "add" else one.tokens)
    return f"{asked}: there is no {missing}" if missing else f"{asked}: it cannot be done there"


def _first_missing(document: Any, tokens: Sequence[str]) -> str:
    """The shortest part of a pointer that leads nowhere, "" if all of it leads somewhere."""
    for depth, token in enumerate(tokens):
        try:
            document = member(document, token)
        except Inapplicable:
            return "/" + "/".join(
                one.replace("~", "~0").replace("/", "~1") for one in tokens[: depth + 1]
            )
    return ""
