"""Protobuf's wire format for messages described by tables of fields.

Documents have protobuf's JSON form: 64-bit numbers are decimal strings, and zero values are left
out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple

from kapy.kube import Document

_VARINT, _BYTES = 0, 2
_WIDTHS: Final = {1: 8, 5: 4}
_MAX_VARINT: Final = (1 << 64) - 1


class Field(NamedTuple):
    """A field of a protobuf message. kind: the type of the field; `of` has the fields of a
    `message`, or the names of an `enum`.
    """

    name: str
    kind: Literal["uint64", "int64", "int32", "bool", "string", "enum", "message"]
    repeated: bool = False
    of: Message | tuple[str, ...] = ()


Message = Mapping[int, Field]


def fields(data: bytes | memoryview) -> Iterator[tuple[int, Any]]:
    """Yield number and value of each field: an int, or bytes (a view if `data` is a view).

    Raises ValueError and IndexError.
    """
    at, end = 0, len(data)
    while at < end:
        key, at = _number(data, at)
        number, wire = key >> 3, key & 7
        if not number:
            raise ValueError("a field has the number 0")
        value: Any
        if wire == _VARINT:
            value, at = _number(data, at)
        elif wire == _BYTES or wire in _WIDTHS:
            size = _WIDTHS.get(wire)
            if size is None:
                size, at = _number(data, at)
            if at + size > end:
                raise ValueError("a field is cut short")
            value, at = data[at : at + size], at + size
        else:
            raise ValueError(f"wire type {wire} is not known")
        yield number, value


def decode_message(message: Message, data: bytes) -> Document:
    """Decode a message to a document; unknown fields are dropped.

    Raises ValueError and IndexError for bytes that are not a message.
    """
    result: Document = {}
    for number, value in fields(data):
        field = message.get(number)
        if field is None:
            continue
        if field.repeated:
            result.setdefault(field.name, []).append(_read(field, value))
        else:
            result[field.name] = _read(field, value)
    return result


def encode_message(message: Message, document: Document) -> bytes:
    """Encode a document as a message."""
    data = bytearray()
    for number, field in message.items():
        value = document.get(field.name)
        for item in value or () if field.repeated else (value,):
            data += _encode_field(number, field, item)
    return bytes(data)


def _read(field: Field, value: Any) -> Any:
    """Return the value of a field in its JSON form. Raises ValueError for a wrong wire type."""
    if isinstance(value, int) is (field.kind in ("message", "string")):
        raise ValueError(f"{field.name} is no {field.kind}")
    match field.kind:
        case "message":
            assert isinstance(field.of, Mapping)
            return decode_message(field.of, value)
        case "string":
            return value.decode()
        case "bool":
            return bool(value)
        case "enum":
            assert isinstance(field.of, tuple)
            return field.of[value] if value < len(field.of) else str(value)
        case "uint64":
            return str(value)
        case _:
            signed = value - (1 << 64) if value >= 1 << 63 else value
            return signed if field.kind == "int32" else str(signed)


def _encode_field(number: int, field: Field, value: Any) -> bytes:
    if field.kind == "message":
        assert isinstance(field.of, Mapping)
        return b"" if value is None else _length_delimited(number, encode_message(field.of, value))
    if field.kind == "string":
        return _length_delimited(number, value.encode()) if value else b""
    if field.kind == "enum":
        assert isinstance(field.of, tuple)
        value = field.of.index(value) if value else 0
    plain = int(value or 0)
    return _varint(number << 3 | _VARINT) + _varint(plain % (1 << 64)) if plain else b""


def _length_delimited(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    data = bytearray()
    while value > 0x7F:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    data.append(value)
    return bytes(data)


def _number(data: bytes | memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & _MAX_VARINT, at
        shift += 7
        if shift > 63:
            raise ValueError("a number is too long")
