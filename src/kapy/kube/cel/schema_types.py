"""The CEL types of schemas, derived like kube-apiserver's `SchemaDeclType`."""

from __future__ import annotations

import re
from typing import Final

from kapy.kube import Document
from kapy.kube.cel.lexer import RESERVED
from kapy.kube.cel.types import (
    BOOL,
    DOUBLE,
    INT,
    STRING,
    Field,
    Type,
)

MAX_REQUEST: Final = 3 * 1024 * 1024
"""Bytes; what has no bound of its own is bounded by what fits in a request."""

_KEYWORDS: Final = RESERVED | {"true", "false", "null", "in"}
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")
_SPECIAL: Final = re.compile(r"__|[./-]")
_WORDS: Final = {
    "__": "__underscores__",
    ".": "__dot__",
    "-": "__dash__",
    "/": "__slash__",
}
_ROOT: Final[Document] = {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
}
_META: Final[Document] = {"name": {"type": "string"}, "generateName": {"type": "string"}}


def escape(name: str) -> str | None:
    """Return the name by which expressions refer to a property; None if they cannot."""
    if name in _KEYWORDS:
        return f"__{name}__"
    if not _NAME.fullmatch(name):
        return None
    return _SPECIAL.sub(lambda match: _WORDS[match[0]], name)


def declared_type(schema: Document, *, resource: bool = False) -> Type | None:
    """Return the CEL type of a schema's values; None if the schema does not specify enough.
    resource: it is the schema of a whole object, with apiVersion, kind and name.
    """
    if schema.get("x-kubernetes-int-or-string"):
        return Type("dyn", max_size=MAX_REQUEST - 2)
    resource = resource or bool(schema.get("x-kubernetes-embedded-resource"))
    kind = "object" if resource else schema.get("type")
    match kind:
        case "array":
            return _array(schema)
        case "object":
            return _object(schema, resource=resource)
        case "string":
            return _string(schema)
        case "boolean":
            return BOOL
        case "number":
            return DOUBLE
        case "integer":
            return INT
    return None


def _array(schema: Document) -> Type | None:
    item = declared_type(schema["items"]) if isinstance(schema.get("items"), dict) else None
    if item is None:
        return None
    most = schema.get("maxItems")
    if most is None:
        most = (MAX_REQUEST - 2) // (item.min_size + 1)
    return Type(
        "list",
        (item,),
        max_size=max(0, most),
        min_size=2,
        list_type=schema.get("x-kubernetes-list-type") or "",
        keys=tuple(schema.get("x-kubernetes-list-map-keys") or ()),
    )


def _object(schema: Document, *, resource: bool) -> Type | None:
    more = schema.get("additionalProperties")
    if isinstance(more, dict):
        value = declared_type(more)
        if value is None:
            return None
        most = schema.get("maxProperties")
        if most is None:
            most = (MAX_REQUEST - 2) // (value.min_size + 6)
        return Type("map", (STRING, value), max_size=max(0, most), min_size=2)
    properties = schema.get("properties") or {}
    if resource:
        metadata_fields = (properties.get("metadata") or {}).get("properties") or {}
        metadata = {"type": "object", "properties": {**_META, **metadata_fields}}
        properties = {**properties, **_ROOT, "metadata": metadata}
    required = schema.get("required") or ()
    fields, least = {}, 2
    for name, subschema in properties.items():
        inner = declared_type(subschema)
        if inner is None:
            continue
        word = escape(name)
        if word is not None:
            fields[word] = Field(name, inner)
        if name in required and subschema.get("default") is None:
            least += len(name) + inner.min_size + 4
    return Type("object", fields=fields, min_size=least)


def _string(schema: Document) -> Type:
    most = schema.get("maxLength")
    form = schema.get("format")
    kind, least = _FORMATS.get(form or "", ("string", 2))
    if most is None:
        if kind == "string" and schema.get("enum"):
            most = max(len(str(item)) for item in schema["enum"])
        else:
            most = _LENGTHS.get(form or "", MAX_REQUEST - 2)
    elif kind == "string":
        most *= 4  # counted in characters, and each may take four bytes
    return Type(kind, max_size=max(0, most), min_size=least)


_FORMATS: Final = {
    "byte": ("bytes", 2),
    "duration": ("duration", 4),
    "date": ("timestamp", 12),
    "date-time": ("timestamp", 22),
}
_LENGTHS: Final = {"duration": 32, "date": 10, "date-time": 35}
