"""OpenAPI v2 in protobuf, as Go clients request it (gnostic's `openapiv2/OpenAPIv2.proto`).

A table describes each message: the field number and encoder of each member. Members with the prefix
`x-` are vendor extensions; their values are sent as YAML (JSON is a subset).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

import msgspec

from kapy.kube import Document

Writer: TypeAlias = Callable[[int, Any], Iterator[bytes]]
Message: TypeAlias = Mapping[str, tuple[int, Writer]]

_VARINT, _DOUBLE, _BYTES = 0, 1, 2


def encode_protobuf(swagger: Document) -> bytes:
    """Encode the description as gnostic's `openapi.v2.Document`."""
    return _message(swagger, _DOCUMENT)


def _message(document: Document, message: Message, extensions: int = 0) -> bytes:
    parts: list[bytes] = []
    for name, value in document.items():
        if name in message:
            number, write = message[name]
            parts += write(number, value)
        elif extensions and name.startswith("x-"):
            parts += _map_entry(extensions, name, _any(value))
    return b"".join(parts)


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    result = bytearray()
    while value > 0x7F:
        result.append(value & 0x7F | 0x80)
        value >>= 7
    result.append(value)
    return bytes(result)


def _bytes(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(len(content)) + content


def _any(value: Any) -> bytes:
    """Encode a value as gnostic's message `Any`, which holds it as YAML."""
    return _bytes(2, msgspec.json.encode(value) + b"\n")


def _map_entry(number: int, name: str, content: bytes) -> Iterator[bytes]:
    """Encode a member of a map as a message with its name and value."""
    yield _bytes(number, _bytes(1, name.encode()) + _bytes(2, content))


def _text(number: int, value: Any) -> Iterator[bytes]:
    yield _bytes(number, str(value).encode())


def _texts(number: int, values: Any) -> Iterator[bytes]:
    for value in values:
        yield from _text(number, value)


def _boolean(number: int, value: Any) -> Iterator[bytes]:
    if value:
        yield _varint(number << 3 | _VARINT) + b"\x01"


def _integer(number: int, value: Any) -> Iterator[bytes]:
    yield _varint(number << 3 | _VARINT) + _varint(int(value))


def _double(number: int, value: Any) -> Iterator[bytes]:
    yield _varint(number << 3 | _DOUBLE) + struct.pack("<d", value)


def _value(number: int, value: Any) -> Iterator[bytes]:
    yield _bytes(number, _any(value))


def _values(number: int, values: Any) -> Iterator[bytes]:
    for value in values:
        yield from _value(number, value)


def _type(number: int, value: Any) -> Iterator[bytes]:
    """Encode gnostic's message `TypeItem`: one JSON type, or several."""
    types = [value] if isinstance(value, str) else value
    yield _bytes(number, b"".join(_texts(1, types)))


def _schema_message(number: int, value: Any) -> Iterator[bytes]:
    yield _bytes(number, _message(value, _SCHEMA, 31))


def _schemas(number: int, values: Any) -> Iterator[bytes]:
    for value in values:
        yield from _schema_message(number, value)


def _inside(field: int, write: Writer) -> Writer:
    """Return a writer that puts the output of `write`, as this field, into a message."""

    def inside(number: int, value: Any) -> Iterator[bytes]:
        yield _bytes(number, b"".join(write(field, value)))

    return inside


def _map_of(field: int, message: Message, extensions: int = 0, wrap: int = 0) -> Writer:
    """Return a writer for a map of messages.

    wrap: the number of the alternative that holds each message.
    """

    def write_map(number: int, value: Any) -> Iterator[bytes]:
        parts: list[bytes] = []
        for name, item in value.items():
            content = _message(item, message, extensions)
            parts += _map_entry(field, name, _bytes(wrap, content) if wrap else content)
        yield _bytes(number, b"".join(parts))

    return write_map


def _additional(number: int, value: Any) -> Iterator[bytes]:
    """Encode gnostic's message `AdditionalPropertiesItem`: a schema or a boolean."""
    if isinstance(value, dict):
        yield _bytes(number, b"".join(_schema_message(1, value)))
    else:
        yield _bytes(number, _varint(2 << 3 | _VARINT) + _varint(int(bool(value))))


def _parameters(number: int, values: Any) -> Iterator[bytes]:
    """Encode gnostic's messages `ParametersItem`: body parameters, and those in path, query or
    header.
    """
    for value in values:
        if value["in"] == "body":
            parameter = _bytes(1, _message(value, _BODY, 6))
        else:
            place, message, extensions = _PLACES[value["in"]]
            parameter = _bytes(2, _bytes(place, _message(value, message, extensions)))
        yield _bytes(number, _bytes(1, parameter))


def _operation_message(number: int, value: Any) -> Iterator[bytes]:
    yield _bytes(number, _message(value, _OPERATION, 13))


_SCHEMA: Final[dict[str, tuple[int, Writer]]] = {
    "$ref": (1, _text),
    "format": (2, _text),
    "title": (3, _text),
    "description": (4, _text),
    "default": (5, _value),
    "multipleOf": (6, _double),
    "maximum": (7, _double),
    "exclusiveMaximum": (8, _boolean),
    "minimum": (9, _double),
    "exclusiveMinimum": (10, _boolean),
    "maxLength": (11, _integer),
    "minLength": (12, _integer),
    "pattern": (13, _text),
    "maxItems": (14, _integer),
    "minItems": (15, _integer),
    "uniqueItems": (16, _boolean),
    "maxProperties": (17, _integer),
    "minProperties": (18, _integer),
    "required": (19, _texts),
    "enum": (20, _values),
    "additionalProperties": (21, _additional),
    "type": (22, _type),
    "items": (23, _inside(1, _schema_message)),
    "allOf": (24, _schemas),
    "example": (30, _value),
}
_SCHEMA["properties"] = (25, _map_of(1, _SCHEMA, 31))  # schemas are recursive
_BODY: Final[Message] = {
    "description": (1, _text),
    "name": (2, _text),
    "in": (3, _text),
    "required": (4, _boolean),
    "schema": (5, _schema_message),
}
_IN_PATH: Final[Message] = {
    "required": (1, _boolean),
    "in": (2, _text),
    "description": (3, _text),
    "name": (4, _text),
    "type": (5, _text),
    "format": (6, _text),
    "uniqueItems": (19, _boolean),
}
_IN_QUERY: Final[Message] = {
    "required": (1, _boolean),
    "in": (2, _text),
    "description": (3, _text),
    "name": (4, _text),
    "type": (6, _text),
    "format": (7, _text),
    "uniqueItems": (20, _boolean),
}
_PLACES: Final[Mapping[str, tuple[int, Message, int]]] = {
    "header": (1, _IN_PATH, 22),
    "query": (3, _IN_QUERY, 23),
    "path": (4, _IN_PATH, 22),
}
_RESPONSE: Final[Message] = {
    "description": (1, _text),
    "schema": (2, _inside(1, _schema_message)),
}
_OPERATION: Final[Message] = {
    "tags": (1, _texts),
    "summary": (2, _text),
    "description": (3, _text),
    "operationId": (5, _text),
    "produces": (6, _texts),
    "consumes": (7, _texts),
    "parameters": (8, _parameters),
    "responses": (9, _map_of(1, _RESPONSE, 5, wrap=1)),
    "schemes": (10, _texts),
    "deprecated": (11, _boolean),
}
_PATH_ITEM: Final[Message] = {
    "get": (2, _operation_message),
    "put": (3, _operation_message),
    "post": (4, _operation_message),
    "delete": (5, _operation_message),
    "options": (6, _operation_message),
    "head": (7, _operation_message),
    "patch": (8, _operation_message),
    "parameters": (9, _parameters),
}
_INFO: Final[Message] = {"title": (1, _text), "version": (2, _text), "description": (3, _text)}


def _info(number: int, value: Any) -> Iterator[bytes]:
    yield _bytes(number, _message(value, _INFO))


_DOCUMENT: Final[Message] = {
    "swagger": (1, _text),
    "info": (2, _info),
    "paths": (8, _map_of(2, _PATH_ITEM, 10)),
    "definitions": (9, _map_of(1, _SCHEMA, 31)),
}
