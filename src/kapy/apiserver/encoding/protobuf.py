"""Decoding of Kubernetes' protobuf, which Go clients send for built-in kinds.

There is no encoding: clients that send protobuf also accept JSON responses. Field numbers are in
`protobuf.json`, types in `structs.json`.
"""

from __future__ import annotations

import base64
import math
import struct
from datetime import UTC, datetime
from functools import cache
from importlib import resources
from typing import Any, TypeAlias, cast

import msgspec

from kapy.apiserver.resources.structs import facts, struct_of
from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.kube.foreign_json import decode_json as from_json
from kapy.kube.foreign_json import is_too_deep
from kapy.kube.names import split_api_version
from kapy.kube.wire_format import fields

_MAGIC = b"k8s\x00"

Bytes: TypeAlias = "bytes | memoryview"


class NotProtobuf(KapyError):
    """The bytes are not an object in protobuf."""


@cache
def _numbers() -> dict[str, dict[str, str]]:
    file = resources.files("kapy.apiserver.resources.builtin") / "protobuf.json"
    return msgspec.json.decode(file.read_bytes(), type=dict[str, dict[str, str]])


class InvalidContent(NotProtobuf):
    """The envelope names a kind, but its content is not a valid object of it."""

    def __init__(self, version: str, kind: str, why: str) -> None:
        super().__init__(why)
        self.kind = kind
        self.said = f'{kind} in version "{version}"'


def decode_protobuf(raw: bytes) -> Document:
    """Decode an object in Kubernetes' envelope. Raises NotProtobuf."""
    if not raw.startswith(_MAGIC):
        raise NotProtobuf(
            "provided data does not appear to be a protobuf message, expected prefix "
            f"[{' '.join(map(str, _MAGIC))}]"
        )
    try:
        # A memoryview avoids a copy at each nesting level.
        parts = dict(fields(memoryview(raw)[len(_MAGIC) :]))
        names = {number: _text(value) for number, value in fields(_bytes(parts.get(1, b"")))}
        content = _bytes(parts.get(2, b""))
    except (IndexError, ValueError) as error:
        raise NotProtobuf(f"proto: {error}") from None
    return _object(names.get(1, ""), names.get(2, ""), content)


def _object(version: str, kind: str, content: Bytes) -> Document:
    group, number = split_api_version(version)
    name = struct_of(group, number, kind)
    if name is None and kind == "DeleteOptions":
        name = "meta.v1.DeleteOptions"
    if name is None:
        raise NotProtobuf(f'no kind "{kind}" is registered for version "{version}"')
    try:
        result = {"apiVersion": version, "kind": kind, **_struct(name, content)}
    except RecursionError:
        raise InvalidContent(number, kind, "proto: exceeded max depth") from None
    except (IndexError, struct.error, ValueError) as error:
        raise InvalidContent(number, kind, f"proto: {error}") from None
    if is_too_deep(result):
        raise InvalidContent(number, kind, "proto: exceeded max depth")
    return result


def _struct(name: str, data: Bytes) -> Document:
    """Decode the fields of one struct in their JSON form."""
    numbers, struct_fields = _numbers().get(name, {}), facts()["structs"].get(name, {})
    result: Document = {}
    for number, value in fields(data):
        field = numbers.get(str(number))
        if field is None:
            continue
        if field.startswith("~"):
            result |= _struct(field[1:], _bytes(value))
            continue
        kind = struct_fields[field]["t"]
        if kind.startswith("[]"):
            result.setdefault(field, []).append(_value(kind[2:], value))
        elif kind.startswith("{}"):
            key, inner = _entry(kind[2:], _bytes(value))
            result.setdefault(field, {})[key] = inner
        else:
            result[field] = _value(kind, value)
    return result


def _entry(kind: str, data: Bytes) -> tuple[str, Any]:
    """Decode one entry of a map."""
    parts = dict(fields(data))
    key = _text(parts.get(1, b""))
    if 2 in parts:
        return key, _value(kind, parts[2])
    empty: Any = "" if kind in ("string", "bytes", "quantity") else {}
    return key, empty


def _value(kind: str, value: Any) -> Any:
    if "." in kind and not kind.startswith("["):
        return _struct(kind, _bytes(value))
    if kind.startswith("[]"):  # a list in a map: a message with the items in field 1
        return [_value(kind[2:], item) for _, item in fields(_bytes(value))]
    match kind:
        case "string":
            return _text(value)
        case "bool":
            return bool(_number(value))
        case "int" | "int32" | "int64":
            return _to_signed(value)
        case "float64":
            return _float(_bytes(value))
        case "bytes":
            return base64.b64encode(_bytes(value)).decode()
        case _:
            return _special(kind, dict(fields(_bytes(value))))


def _special(kind: str, parts: dict[int, Any]) -> Any:
    """Decode types whose JSON form is not a plain struct."""
    match kind:
        case "time" | "microtime":
            return _moment(kind, parts)
        case "quantity":
            return _text(parts.get(1, b"0"))
        case "intstr":
            if parts.get(1, 0) == 1:
                return _text(parts.get(3, b""))
            return _to_signed(parts.get(2, 0))
        case _:  # RawExtension, FieldsV1, JSON: JSON bytes in the first field
            raw = bytes(_bytes(parts.get(1, b"")))
            return from_json(raw) if raw else {}


def _moment(kind: str, parts: dict[int, Any]) -> str | None:
    if not parts:
        return None
    seconds, nanos = _to_signed(parts.get(1, 0)), _to_signed(parts.get(2, 0))
    try:
        moment = datetime.fromtimestamp(seconds, tz=UTC)
    except (OverflowError, OSError):
        raise ValueError(f"{seconds} seconds since 1970 are no time") from None
    if kind == "time":
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    return moment.replace(microsecond=nanos // 1000).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


# The wire only tells numbers from bytes; this checks that a field has the right one.


def _bytes(value: Any) -> Bytes:
    if isinstance(value, int):
        raise ValueError("a number stands where a message or a text is expected")
    return cast(Bytes, value)


def _number(value: Any) -> int:
    if not isinstance(value, int):
        raise ValueError("a message or a text stands where a number is expected")
    return value


def _to_signed(value: Any) -> int:
    number = _number(value)
    return number - (1 << 64) if number >= 1 << 63 else number


def _text(value: Any) -> str:
    return str(_bytes(value), "utf-8")


def _float(value: Bytes) -> float:
    result: float = struct.unpack("<d" if len(value) == 8 else "<f", value)[0]
    if not math.isfinite(result):
        raise ValueError(f"JSON has no number {result}")
    return result
