"""Decodes a response as Go's `json.NewDecoder(body).Decode(&response)` does.

    document = go_document(body, BeforeClusterCreateResponse)    # ready for msgspec.convert

Go reads the first value of the body and leaves the rest alone. A key names the field of the same
spelling, or else the one that differs only in case. A key that comes again is decoded over what
was there: a scalar or a member of a map is replaced, an object is merged, and the elements of a
list are decoded over the earlier elements at the same index. `null` clears a pointer, a list or a
map, and leaves every other field as it is. A value of another type is an error, and so is a number
with a fraction or an exponent where an integer is meant.
"""

from __future__ import annotations

import binascii
import codecs
import json
import math
import re
from collections.abc import Mapping
from typing import Any, Final

from kapy.apiserver.encoding.go_json import syntax_error
from kapy.apiserver.encoding.long_json import paused_collection
from kapy.hooks.go_types import Form, GoType, Member, struct_of
from kapy.kube import Document
from kapy.kube.depth import MAX_DEPTH
from kapy.kube.foreign_json import TooDeep
from kapy.kube.model import Model

_BASE64: Final = re.compile("[A-Za-z0-9+/]*={0,2}")
_SPACE: Final = " \t\r\n"
_SURROGATES: Final = dict.fromkeys(range(0xD800, 0xE000), "\ufffd")
_SMALLEST, _LARGEST = -(1 << 63), (1 << 63) - 1
_DIGITS: Final = 4000
_REPLACE: Final = "kapy.go-json"


def _each_byte(error: UnicodeError) -> tuple[str, int]:
    """Return one replacement character for each byte that is not UTF-8, as Go does."""
    assert isinstance(error, UnicodeDecodeError)
    return "\ufffd" * (error.end - error.start), error.end


codecs.register_error(_REPLACE, _each_byte)


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is no JSON")


def _integer(text: str) -> float:
    """Parse an integer; return infinity for more digits than Python parses."""
    return int(text) if len(text) <= _DIGITS else math.inf


# An object is a tuple of members, to preserve repeated keys.
_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=tuple, parse_int=_integer, parse_constant=_no_constant
)


class _Slice:
    """A Go slice: elements beyond its length stay in memory, and later values are decoded over
    them.
    """

    def __init__(self) -> None:
        self.elements: list[Any] = []
        self.length = 0


def go_document(body: bytes, kind: type[Model]) -> Document:
    """Return the document that Go would decode from a body, with the fields of `kind` in their own
    spelling.

    Raises ValueError with Go's message.
    """
    value = _first_value(body)
    document: Document = {}
    if value is not None:
        _merge(document, value, kind, "")
    return _finish_lists(document, kind)


def _first_value(body: bytes) -> Any:
    text = body.decode(errors=_REPLACE)
    start = len(text) - len(text.lstrip(_SPACE))
    if start == len(text):
        raise ValueError("EOF")
    try:
        with paused_collection(len(text)):
            value, _ = _DECODER.raw_decode(text, start)
    except RecursionError:
        raise TooDeep from None
    except ValueError:
        error = syntax_error(body)
        raise ValueError(
            "unexpected EOF" if error.startswith("unexpected end") else error
        ) from None
    if text.count("{") + text.count("[") > MAX_DEPTH:
        _check_depth(value)
    return value


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [
            inner
            for item in level
            if isinstance(item, (tuple, list))
            for inner in (item if isinstance(item, list) else [member for _, member in item])
            if inner and isinstance(inner, (tuple, list))
        ]
        if not level:
            return
    raise TooDeep


def _merge(into: Document, value: Any, kind: type[Model], path: str) -> None:
    """Decode an object over its current value."""
    if not isinstance(value, tuple):
        raise _mismatch(value, path, "object")
    struct = struct_of(kind)
    for key, item in value:
        member = struct.member(key)
        if member is None:
            continue
        if item is not None:
            where = f"{path}.{member.name}" if path else member.name
            into[member.name] = _value(into.get(member.name), member.type, item, where)
        elif member.is_nullable:
            into.pop(member.name, None)


def _value(current: Any, meant: GoType, value: Any, path: str) -> Any:
    """Decode a value that is not null over the current one."""
    match meant.form:
        case Form.SCALAR:
            return _scalar(value, meant, path)
        case Form.STRUCT:
            result: Document = {} if current is None else current
            _merge(result, value, meant.python, path)
            return result
        case Form.SLICE:
            return _elements(current, meant, value, path)
        case Form.MAP:
            return _entries(current, meant, value, path)
        case Form.BYTES:
            return _bytes(current, value, path)
        case Form.RAW:
            return _raw(value)


def _elements(current: _Slice | None, meant: GoType, value: Any, path: str) -> _Slice:
    if not isinstance(value, list):
        raise _mismatch(value, path, "list")
    assert meant.element is not None
    result = current if current is not None and value else _Slice()
    for index, item in enumerate(value):
        if index == len(result.elements):
            result.elements.append(None)
        if item is not None:
            before, where = result.elements[index], f"{path}[{index}]"
            result.elements[index] = _value(before, meant.element, item, where)
        elif meant.element.form is Form.RAW:
            result.elements[index] = None
    result.length = len(value)
    return result


def _entries(current: Document | None, meant: GoType, value: Any, path: str) -> Document:
    if not isinstance(value, tuple):
        raise _mismatch(value, path, "object")
    assert meant.element is not None
    result: Document = {} if current is None else current
    for key, item in value:
        product = None if item is None else _value(None, meant.element, item, f"{path}.{key}")
        result[_text(key)] = product
    return result


def _scalar(value: Any, meant: GoType, path: str) -> Any:
    if type(value) is not meant.python:
        raise _mismatch(value, path, meant.name)
    if meant.python is str:
        return _text(value)
    if meant.python is int and not -(1 << meant.bits - 1) <= value < 1 << meant.bits - 1:
        raise _mismatch(value, path, meant.name)
    return value


def _bytes(current: str | None, value: Any, path: str) -> str:
    """Decode base64 bytes, which Go also reads from a list of numbers; null keeps the current
    value.
    """
    if isinstance(value, str):
        text = value.replace("\r", "").replace("\n", "")
        if len(text) % 4 or not _BASE64.fullmatch(text):
            raise ValueError(f"illegal base64 data in field {path}")
        return text
    if not isinstance(value, list):
        raise _mismatch(value, path, "[]uint8")
    before = binascii.a2b_base64(current or "")[: len(value)]
    result = bytearray(before.ljust(len(value), b"\0"))
    for index, item in enumerate(value):
        if item is not None and (type(item) is not int or not 0 <= item <= 255):
            raise _mismatch(item, path, "uint8")
        result[index] = result[index] if item is None else item
    return binascii.b2a_base64(result, newline=False).decode()


def _raw(value: Any) -> Any:
    """Decode a value of any type; the last of several equal keys wins."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, tuple):
        return {_text(key): _raw(item) for key, item in value}
    if isinstance(value, list):
        return [_raw(item) for item in value]
    if type(value) is int and not _SMALLEST <= value <= _LARGEST:
        value = float(value) if value.bit_length() <= 1024 else math.inf
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("json: a number is out of the range of float64")
    return value


def _text(value: str) -> str:
    return value if value.isascii() else value.translate(_SURROGATES)


def _finish_lists(document: Mapping[str, Any], kind: type[Model]) -> Document:
    """Convert slices to lists, and add zero values where a Model needs them."""
    exact = struct_of(kind).exact
    result = {name: _final(value, exact[name].type) for name, value in document.items()}
    for name, member in exact.items():
        if member.is_written and name not in result:
            result[name] = _final(None, member.type)
        elif member.is_omitted and _is_zero(member, result):
            result.pop(name, None)
    return result


def _is_zero(member: Member, document: Document) -> bool:
    return not any((document.get(member.name) or {}).values())


def _final(value: Any, meant: GoType) -> Any:
    if meant.form is Form.STRUCT:
        return _finish_lists(value or {}, meant.python)
    if value is None:
        return meant.zero()
    if isinstance(value, _Slice):
        assert meant.element is not None
        return [_final(item, meant.element) for item in value.elements[: value.length]]
    if meant.form is Form.MAP:
        assert meant.element is not None
        return {key: _final(item, meant.element) for key, item in value.items()}
    return value


_NAMES: Final = {str: "string", bool: "bool", list: "array", tuple: "object"}
_SHOWN: Final = 10**30


def _mismatch(value: Any, path: str, wanted: str) -> ValueError:
    name = _NAMES.get(type(value), "number")
    is_short = name == "number" and abs(value) < _SHOWN
    if wanted.startswith("int") and is_short:
        name = f"number {value}"
    where = f"field {path}" if path else "a value"
    return ValueError(f"json: cannot unmarshal {name} into {where} of type {wanted}")
