"""JSON patch (RFC 6902) as kube-apiserver applies it.

Where kube-apiserver's library departs from the RFC, so does this: replacing a member that is not
there adds it, copying one gives null, indexes may be negative or have leading zeros, and what
stands before a path's first slash is ignored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from msgspec.json import Encoder

from kapy.kube.errors import BadRequest, Invalid, TooLarge

LIMIT: Final = 10_000
"""How many operations one patch may have."""

COPY_LIMIT: Final = 3 * 1024 * 1024
"""Bytes that all copies of one patch may add."""

_encode = Encoder().encode
_Change = Callable[[Any, str], Any]


def apply(document: Any, operations: Any) -> Any:
    """`document` after all operations, sharing what they left alone.

    Raises BadRequest when `operations` is no list of objects, TooLarge when there are too many,
    Invalid when one does not apply (in which case none does).
    """
    if not isinstance(operations, list):
        raise BadRequest(_not_decodable(operations))
    if len(operations) > LIMIT:
        raise TooLarge(
            "Request entity too large: The allowed maximum operations in a JSON patch is "
            f"{LIMIT}, got {len(operations)}"
        )
    strange = next((one for one in operations if not isinstance(one, dict)), None)
    if strange is not None or None in operations:
        raise BadRequest(_not_decodable(strange, "handlers.jsonPatchOp"))
    copied = 0
    try:
        for operation in operations:
            if operation.get("op") == "copy":
                copied += _copied(document, operation, copied)
            document = _applied(document, operation)
    except _Inapplicable as error:
        raise Invalid(
            "the server rejected our request due to an error in our request", details={}
        ) from error
    return document


class _Inapplicable(Exception):
    """One operation does not apply."""


def _not_decodable(found: Any, wanted: str = "[]handlers.jsonPatchOp") -> str:
    names: dict[type, str] = {dict: "object", list: "array", str: "string", bool: "bool"}
    kind = "null" if found is None else names.get(type(found), "number")
    return f"error decoding patch: json: cannot unmarshal {kind} into Go value of type {wanted}"


def _copied(document: Any, operation: dict[str, Any], before: int) -> int:
    """The bytes that a copy adds: few operations could double a document again and again.

    Raises TooLarge when all copies of a patch add more than a body may have.
    """
    size = before + len(_encode(_found(document, _path(operation, "from"))))
    if size > COPY_LIMIT:
        raise TooLarge(
            "Request entity too large: Unable to copy, the accumulated size increase of copy is "
            f"{size}, exceeding the limit {COPY_LIMIT}"
        )
    return size - before


def _applied(document: Any, operation: dict[str, Any]) -> Any:
    match operation.get("op"):
        case "add":
            return _edited(document, _path(operation), _adding(operation.get("value")))
        case "remove":
            return _edited(document, _path(operation), _without)
        case "replace":
            if operation.get("path") == "":
                return operation.get("value")
            return _edited(document, _path(operation), _replacing(operation.get("value")))
        case "move":
            value = _found(document, _path(operation, "from"))
            without = _edited(document, _path(operation, "from"), _without)
            return _edited(without, _path(operation), _adding(value))
        case "copy":
            value = _found(document, _path(operation, "from"))
            return _edited(document, _path(operation), _adding(value))
        case "test":
            whole = operation.get("path") == ""
            value = document if whole else _found(document, _path(operation))
            if not _identical(value, operation.get("value")):
                raise _Inapplicable
            return document
    raise _Inapplicable


def _path(operation: dict[str, Any], member: str = "path") -> list[str]:
    pointer = operation.get(member)
    if not isinstance(pointer, str):
        raise _Inapplicable
    tokens = pointer.split("/")[1:]
    if not tokens:
        raise _Inapplicable
    return [token.replace("~1", "/").replace("~0", "~") for token in tokens]


def _found(document: Any, tokens: list[str]) -> Any:
    for token in tokens[:-1]:
        document = _member(document, token)
    if isinstance(document, dict):
        return document.get(tokens[-1])
    return _member(document, tokens[-1])


def _member(node: Any, token: str) -> Any:
    if isinstance(node, dict) and token in node:
        return node[token]
    if isinstance(node, list):
        return node[_index(token, len(node))]
    raise _Inapplicable


def _index(token: str, length: int) -> int:
    """A position among `length` items; negative ones count from the end."""
    try:
        index = int(token)
    except ValueError:
        raise _Inapplicable from None
    if not -length <= index < length:
        raise _Inapplicable
    return index % length


def _edited(node: Any, tokens: list[str], change: _Change) -> Any:
    """`node` with `change` made in the container of the last token, on copies all the way."""
    if len(tokens) == 1:
        return change(node, tokens[0])
    inner = _edited(_member(node, tokens[0]), tokens[1:], change)
    return _replacing(inner)(node, tokens[0])


def _replacing(value: Any) -> _Change:
    def change(container: Any, token: str) -> Any:
        if isinstance(container, dict):
            return {**container, token: value}
        if isinstance(container, list):
            copy = container.copy()
            copy[_index(token, len(copy))] = value
            return copy
        raise _Inapplicable

    return change


def _adding(value: Any) -> _Change:
    def change(container: Any, token: str) -> Any:
        if isinstance(container, dict):
            return {**container, token: value}
        if isinstance(container, list):
            at = len(container) if token == "-" else _index(token, len(container) + 1)
            return [*container[:at], value, *container[at:]]
        raise _Inapplicable

    return change


def _without(container: Any, token: str) -> Any:
    if isinstance(container, dict) and token in container:
        return {key: value for key, value in container.items() if key != token}
    if isinstance(container, list):
        at = _index(token, len(container))
        return [*container[:at], *container[at + 1 :]]
    raise _Inapplicable


def _identical(one: Any, two: Any) -> bool:
    """Equality as the texts would have it: 2 is not 2.0, and true is not 1."""
    if type(one) is not type(two):
        return False
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(_identical(one[k], two[k]) for k in one)
    if isinstance(one, list):
        return len(one) == len(two) and all(map(_identical, one, two))
    return bool(one == two)
