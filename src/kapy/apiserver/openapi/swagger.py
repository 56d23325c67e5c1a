"""OpenAPI v2 ("Swagger"): all groups and versions in one document, as JSON and in protobuf.

It is derived from OpenAPI v3. As in kube-apiserver, what v2 cannot express (alternatives, nullable
values) is left out, so that clients do not validate such values.

Go clients request protobuf (gnostic's `openapiv2/OpenAPIv2.proto`). A table describes each message:
the field number and encoder of each member. Members with the prefix `x-` are vendor extensions;
their values are sent as YAML (JSON is a subset).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

import msgspec

from kapy.apiserver.openapi.documents import document
from kapy.apiserver.resources.registry import Registry
from kapy.kube import Document

_V3_SCHEMAS: Final = "#/components/schemas/"
_DEFINITIONS: Final = "#/definitions/"
_UNKNOWN_TO_V2: Final = frozenset({"anyOf", "oneOf", "not", "nullable"})
_METHODS: Final = ("get", "put", "post", "delete", "patch")


def swagger(registry: Registry) -> Document:
    """Return the whole OpenAPI v2 document."""
    paths: Document = {}
    definitions: Document = {}
    for group, version in dict.fromkeys(
        (kind.resource.group, kind.resource.version) for kind in registry
    ):
        described = document(registry, group, version)
        assert described is not None
        paths |= {path: _path(item) for path, item in described["paths"].items()}
        for name, schema in described["components"]["schemas"].items():
            # Shared types occur in several documents with the same definition.
            if name not in definitions:
                definitions[name] = _schema(schema)
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": "unversioned"},
        "paths": dict(sorted(paths.items())),
        "definitions": dict(sorted(definitions.items())),
    }


def _path(item: Document) -> Document:
    result: Document = {method: _operation(item[method]) for method in _METHODS if method in item}
    result["parameters"] = [_parameter(parameter) for parameter in item.get("parameters", ())]
    return result


def _operation(operation: Document) -> Document:
    body = operation.get("requestBody")
    parameters = [_parameter(parameter) for parameter in operation["parameters"]]
    if body is not None:
        parameters.insert(0, _body(body))
    return {
        **{key: value for key, value in operation.items() if key != "requestBody"},
        "consumes": list(body["content"]) if body is not None else ["*/*"],
        "produces": ["application/json", "application/yaml"],
        "schemes": ["https"],
        "parameters": parameters,
        "responses": {
            code: _response(response) for code, response in operation["responses"].items()
        },
    }


def _parameter(parameter: Document) -> Document:
    """Convert a path or query parameter: v2 has the type beside the name."""
    schema: Document = parameter["schema"]
    return {key: value for key, value in parameter.items() if key != "schema"} | schema


def _body(body: Document) -> Document:
    result = {"in": "body", "name": "body", "schema": _content(body)}
    return result | ({"required": True} if body.get("required") else {})


def _response(response: Document) -> Document:
    result = {"description": response["description"]}
    return result | ({"schema": _content(response)} if "content" in response else {})


def _content(of: Document) -> Any:
    return _schema(next(iter(of["content"].values()))["schema"])


def _schema(schema: Any) -> Any:
    """Convert a schema to v2."""
    if not isinstance(schema, dict):
        return schema
    members = dict(_members(schema))
    if schema.get("nullable") or schema.get("x-kubernetes-preserve-unknown-fields"):
        # v2 forbids null and unknown fields, so the type is left out.
        for key in ("type", "items", "properties"):
            members.pop(key, None)
    if "oneOf" in schema:
        members["type"] = "string"  # an int-or-string or quantity: a string covers all values
    return members


def _members(schema: Document) -> Iterator[tuple[str, Any]]:
    for key, value in schema.items():
        if key in _UNKNOWN_TO_V2:
            continue
        if key == "$ref":
            yield key, value.replace(_V3_SCHEMAS, _DEFINITIONS)
        elif key == "allOf" and len(value) == 1 and set(value[0]) == {"$ref"}:
            # v3 wraps a reference to add a description, v2 does not.
            yield "$ref", value[0]["$ref"].replace(_V3_SCHEMAS, _DEFINITIONS)
        elif key == "allOf":
            yield key, [_schema(item) for item in value]
        elif key == "properties":
            yield key, {name: _schema(item) for name, item in value.items()}
        elif key in ("items", "additionalProperties"):
            yield key, _schema(value)
        else:
            yield key, value


_Writer: TypeAlias = Callable[[int, Any], Iterator[bytes]]
_Message: TypeAlias = Mapping[str, tuple[int, _Writer]]

_VARINT, _DOUBLE, _BYTES = 0, 1, 2


def encode_protobuf(swagger: Document) -> bytes:
    """Encode the description as gnostic's `openapi.v2.Document`."""
    return _message(swagger, _DOCUMENT)


def _message(document: Document, message: _Message, extensions: int = 0) -> bytes:
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


def _inside(field: int, write: _Writer) -> _Writer:
    """Return a writer that puts the output of `write`, as this field, into a message."""

    def inside(number: int, value: Any) -> Iterator[bytes]:
        yield _bytes(number, b"".join(write(field, value)))

    return inside


def _map_of(field: int, message: _Message, extensions: int = 0, wrap: int = 0) -> _Writer:
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


_SCHEMA: Final[dict[str, tuple[int, _Writer]]] = {
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
_BODY: Final[_Message] = {
    "description": (1, _text),
    "name": (2, _text),
    "in": (3, _text),
    "required": (4, _boolean),
    "schema": (5, _schema_message),
}
_IN_PATH: Final[_Message] = {
    "required": (1, _boolean),
    "in": (2, _text),
    "description": (3, _text),
    "name": (4, _text),
    "type": (5, _text),
    "format": (6, _text),
    "uniqueItems": (19, _boolean),
}
_IN_QUERY: Final[_Message] = {
    "required": (1, _boolean),
    "in": (2, _text),
    "description": (3, _text),
    "name": (4, _text),
    "type": (6, _text),
    "format": (7, _text),
    "uniqueItems": (20, _boolean),
}
_PLACES: Final[Mapping[str, tuple[int, _Message, int]]] = {
    "header": (1, _IN_PATH, 22),
    "query": (3, _IN_QUERY, 23),
    "path": (4, _IN_PATH, 22),
}
_RESPONSE: Final[_Message] = {
    "description": (1, _text),
    "schema": (2, _inside(1, _schema_message)),
}
_OPERATION: Final[_Message] = {
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
_PATH_ITEM: Final[_Message] = {
    "get": (2, _operation_message),
    "put": (3, _operation_message),
    "post": (4, _operation_message),
    "delete": (5, _operation_message),
    "options": (6, _operation_message),
    "head": (7, _operation_message),
    "patch": (8, _operation_message),
    "parameters": (9, _parameters),
}
_INFO: Final[_Message] = {"title": (1, _text), "version": (2, _text), "description": (3, _text)}


def _info(number: int, value: Any) -> Iterator[bytes]:
    yield _bytes(number, _message(value, _INFO))


_DOCUMENT: Final[_Message] = {
    "swagger": (1, _text),
    "info": (2, _info),
    "paths": (8, _map_of(2, _PATH_ITEM, 10)),
    "definitions": (9, _map_of(1, _SCHEMA, 31)),
}
