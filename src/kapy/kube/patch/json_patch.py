"""JSON patch (RFC 6902) as kube-apiserver applies it.

Where kube-apiserver's library departs from the RFC, so does this: replacing a member that is not
there adds it, copying one gives null, indexes may be negative or have leading zeros, and what
stands before a path's first slash is ignored.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec.json import Encoder

from kapy.kube.errors import BadRequest, Invalid, TooLarge
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

LIMIT: Final = 10_000
"""How many operations one patch may have."""

COPY_LIMIT: Final = 3 * 1024 * 1024
"""Bytes that all copies of one patch may add."""

_encode = Encoder().encode


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
    except Inapplicable as error:
        raise Invalid(
            "the server rejected our request due to an error in our request", details={}
        ) from error
    return document


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
            return edited(document, _path(operation), adding(operation.get("value")))
        case "remove":
            return edited(document, _path(operation), without)
        case "replace":
            if operation.get("path") == "":
                return operation.get("value")
            return edited(document, _path(operation), replacing(operation.get("value")))
        case "move":
            value = _found(document, _path(operation, "from"))
            rest = edited(document, _path(operation, "from"), without)
            return edited(rest, _path(operation), adding(value))
        case "copy":
            value = _found(document, _path(operation, "from"))
            return edited(document, _path(operation), adding(value))
        case "test":
            whole = operation.get("path") == ""
            value = document if whole else _found(document, _path(operation))
            if not identical(value, operation.get("value")):
                raise Inapplicable
            return document
    raise Inapplicable


def _path(operation: dict[str, Any], which: str = "path") -> list[str]:
    pointer = operation.get(which)
    tokens = tokens_of(pointer) if isinstance(pointer, str) else []
    if not tokens:
        raise Inapplicable
    return tokens


def _found(document: Any, tokens: list[str]) -> Any:
    for token in tokens[:-1]:
        document = member(document, token)
    if isinstance(document, dict):
        return document.get(tokens[-1])
    return member(document, tokens[-1])
