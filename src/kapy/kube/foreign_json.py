"""Decoding of untrusted JSON with a single exception type.

`msgspec` raises three: DecodeError, UnicodeDecodeError for invalid UTF-8, RecursionError for deep
nesting. It also accepts values nested so deeply that recursive code fails later. All JSON from
outside the program is decoded here.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from kapy.kube.depth import MAX_DEPTH

_LARGE_TEXT: Final = 1 << 17
_CHUNK_BYTES: Final = 1 << 20
_decode: Final = msgspec.json.Decoder().decode
_fields: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_elements: Final = msgspec.json.Decoder(list[msgspec.Raw]).decode


class BadJson(ValueError):
    """The text is not valid JSON or nested too deeply; the message says which."""


class TooDeep(BadJson):
    """The text is nested more deeply than DEPTH."""

    def __init__(self) -> None:
        super().__init__(f"it is nested more than {MAX_DEPTH} levels deep")


def decode_json(text: bytes | str) -> Any:
    """Decode an untrusted JSON text. Raises BadJson."""
    try:
        value = decode_json_unchecked(text)
    except RecursionError:
        raise TooDeep from None
    except ValueError as error:
        raise BadJson(str(error)) from None
    check_depth(text, value)
    return value


def decode_json_unchecked(text: bytes | str) -> Any:
    """Decode a text without the depth check. Raises ValueError and RecursionError.

    The cyclic garbage collector is paused: decoding creates no garbage, and repeated collections
    over a million lists take ten times as long as the decoding.
    """
    if len(text) < _LARGE_TEXT or not gc.isenabled():
        return _decode(text)
    gc.disable()
    try:
        return _decode(text)
    finally:
        gc.enable()


def decode_json_in_pieces(text: bytes, path: Sequence[str] = ("items",)) -> Iterator[Any]:
    """Decode a text in pieces: yield None after each megabyte of the list at a path, then the
    value.

    The caller can run other tasks between the pieces of a large list. Raises BadJson.
    """
    if len(text) < _CHUNK_BYTES:
        yield decode_json(text)
        return
    name, *below = path
    try:
        fields = _fields(text)
        inner = bytes(fields.pop(name))
        elements = [] if below else _elements(inner)
    except (ValueError, KeyError, RecursionError):
        yield decode_json(text)  # not a list: report the error as for any other value
        return
    result: Any = None
    for result in decode_json_in_pieces(inner, below) if below else _list_in_pieces(elements):
        if result is None:
            yield None
    yield {**{key: decode_json(bytes(field)) for key, field in fields.items()}, name: result}


def _list_in_pieces(elements: list[msgspec.Raw]) -> Iterator[Any]:
    result: list[Any] = []
    size = 0
    for item in elements:
        raw = bytes(item)
        result.append(decode_json(raw))
        size += len(raw)
        if size > _CHUNK_BYTES:
            yield None
            size = 0
    yield result


def check_depth(text: bytes | str, value: Any) -> None:
    """Check that a value is not too deep for recursion. Raises TooDeep.

    text: the text that `value` was decoded from.
    """
    brackets = (
        text.count(b"{") + text.count(b"[")
        if isinstance(text, bytes)
        else text.count("{") + text.count("[")
    )
    if brackets > MAX_DEPTH and is_too_deep(value):
        raise TooDeep


def is_too_deep(value: Any) -> bool:
    """Report whether a value has more levels than DEPTH, without recursion."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(MAX_DEPTH):
        level = [
            item
            for node in level
            for item in (node.values() if isinstance(node, dict) else node)
            if item and isinstance(item, (dict, list))  # empty containers need no further walk
        ]
        if not level:
            return False
    return True
