"""Bodies in Kubernetes' protobuf form, which Go clients send for Kubernetes' own kinds.

Only decoding: answers are JSON, which every client that sends protobuf also takes. The facts
(which field has which number) stand in `protobuf.json`, the types in `structs.json`.
"""

from __future__ import annotations

import base64
import struct
from datetime import UTC, datetime
from functools import cache
from importlib import resources
from typing import Any

import msgspec

from kapy.apiserver.resources.structs import facts, struct_of
from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.kube.names import split_api_version
from kapy.kube.wire_format import fields

_MAGIC = b"k8s\x00"


class NotProtobuf(KapyError):
    """The bytes are no object in protobuf form."""


@cache
def _numbers() -> dict[str, dict[str, str]]:
    file = resources.files("kapy.apiserver.resources.builtin") / "protobuf.json"
    return msgspec.json.decode(file.read_bytes(), type=dict[str, dict[str, str]])


def decoded(raw: bytes) -> Document:
    """The object in an envelope of Kubernetes' own. Raises NotProtobuf."""
    if not raw.startswith(_MAGIC):
        raise NotProtobuf("provided data does not appear to be a protobuf message")
    try:
        return _enveloped(raw[len(_MAGIC) :])
    except (IndexError, struct.error, UnicodeDecodeError, ValueError) as error:
        raise NotProtobuf(f"the protobuf message is damaged: {error}") from None


def _enveloped(envelope: bytes) -> Document:
    parts = dict(fields(envelope))
    names = {number: value.decode() for number, value in fields(parts.get(1, b""))}
    version, kind = names.get(1, ""), names.get(2, "")
    group, number = split_api_version(version)
    name = struct_of(group, number, kind)
    if name is None and kind == "DeleteOptions":
        name = "meta.v1.DeleteOptions"
    if name is None:
        raise NotProtobuf(f'no kind "{kind}" is registered for version "{version}"')
    return {"apiVersion": version, "kind": kind, **_struct(name, parts.get(2, b""))}


def _struct(name: str, data: bytes) -> Document:
    """The fields of one struct as JSON has them."""
    numbers, known = _numbers().get(name, {}), facts()["structs"].get(name, {})
    found: Document = {}
    for number, value in fields(data):
        field = numbers.get(str(number))
        if field is None:
            continue
        if field.startswith("~"):
            found |= _struct(field[1:], value)
            continue
        kind = known[field]["t"]
        if kind.startswith("[]"):
            found.setdefault(field, []).append(_value(kind[2:], value))
        elif kind.startswith("{}"):
            key, inner = _entry(kind[2:], value)
            found.setdefault(field, {})[key] = inner
        else:
            found[field] = _value(kind, value)
    return found


def _entry(kind: str, data: bytes) -> tuple[str, Any]:
    """One entry of a map."""
    parts = dict(fields(data))
    key = parts.get(1, b"").decode()
    if 2 in parts:
        return key, _value(kind, parts[2])
    empty: Any = "" if kind in ("string", "bytes", "quantity") else {}
    return key, empty


def _value(kind: str, value: Any) -> Any:
    if "." in kind and not kind.startswith("["):
        return _struct(kind, value)
    if kind.startswith("[]"):  # a list within a map: a message with the items in field 1
        return [_value(kind[2:], item) for _, item in fields(value)]
    match kind:
        case "string":
            return value.decode()
        case "bool":
            return bool(value)
        case "int" | "int32" | "int64":
            return value - (1 << 64) if value >= 1 << 63 else value
        case "float64":
            return struct.unpack("<d" if len(value) == 8 else "<f", value)[0]
        case "bytes":
            return base64.b64encode(value).decode()
        case _:
            return _special(kind, dict(fields(value)))


def _special(kind: str, parts: dict[int, Any]) -> Any:
    """Types that are no plain structs in JSON."""
    match kind:
        case "time" | "microtime":
            return _moment(kind, parts)
        case "quantity":
            return parts.get(1, b"0").decode()
        case "intstr":
            if parts.get(1, 0) == 1:
                return parts.get(3, b"").decode()
            number = parts.get(2, 0)
            return number - (1 << 64) if number >= 1 << 63 else number
        case _:  # RawExtension, FieldsV1, JSON: bytes of JSON in the first field
            raw = parts.get(1, b"")
            return msgspec.json.decode(raw) if raw else {}


def _moment(kind: str, parts: dict[int, Any]) -> str | None:
    if not parts:
        return None
    moment = datetime.fromtimestamp(parts.get(1, 0), tz=UTC)
    if kind == "time":
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    return moment.replace(microsecond=parts.get(2, 0) // 1000).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
