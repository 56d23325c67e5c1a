"""The types that a schema declares, as kube-apiserver's `SchemaDeclType` derives them."""

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

LARGEST_REQUEST: Final = 3 * 1024 * 1024
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


def escaped(name: str) -> str | None:
    """How an expression writes a property's name; None when it cannot."""
    if name in _KEYWORDS:
        return f"__{name}__"
    if not _NAME.fullmatch(name):
        return None
    return _SPECIAL.sub(lambda found: _WORDS[found[0]], name)


def declared(schema: Document, *, resource: bool = False) -> Type | None:
    """The type of values of a schema; None when the schema does not say enough.

    resource: it is that of a whole object, which has apiVersion, kind and a name.
    """
    if schema.get("x-kubernetes-int-or-string"):
        return Type("dyn", most=LARGEST_REQUEST - 2)
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
    item = declared(schema["items"]) if isinstance(schema.get("items"), dict) else None
    if item is None:
        return None
    most = schema.get("maxItems")
    if most is None:
        most = (LARGEST_REQUEST - 2) // (item.least + 1)
    return Type(
        "list",
        (item,),
        most=max(0, most),
        least=2,
        list_type=schema.get("x-kubernetes-list-type") or "",
        keys=tuple(schema.get("x-kubernetes-list-map-keys") or ()),
    )


def _object(schema: Document, *, resource: bool) -> Type | None:
    more = schema.get("additionalProperties")
    if isinstance(more, dict):
        value = declared(more)
        if value is None:
            return None
        most = schema.get("maxProperties")
        if most is None:
            most = (LARGEST_REQUEST - 2) // (value.least + 6)
        return Type("map", (STRING, value), most=max(0, most), least=2)
    properties = schema.get("properties") or {}
    if resource:
        known = (properties.get("metadata") or {}).get("properties") or {}
        metadata = {"type": "object", "properties": {**_META, **known}}
        properties = {**properties, **_ROOT, "metadata": metadata}
    required = schema.get("required") or ()
    fields, least = {}, 2
    for name, one in properties.items():
        inner = declared(one)
        if inner is None:
            continue
        word = escaped(name)
        if word is not None:
            fields[word] = Field(name, inner)
        if name in required and one.get("default") is None:
            least += len(name) + inner.least + 4
    return Type("object", fields=fields, least=least)


def _string(schema: Document) -> Type:
    most = schema.get("maxLength")
    form = schema.get("format")
    kind, least = _FORMATS.get(form or "", ("string", 2))
    if most is None:
        if kind == "string" and schema.get("enum"):
            most = max(len(str(one)) for one in schema["enum"])
        else:
            most = _LENGTHS.get(form or "", LARGEST_REQUEST - 2)
    elif kind == "string":
        most *= 4  # counted in characters, and each may take four bytes
    return Type(kind, most=max(0, most), least=least)


_FORMATS: Final = {
    "byte": ("bytes", 2),
    "duration": ("duration", 4),
    "date": ("timestamp", 12),
    "date-time": ("timestamp", 22),
}
_LENGTHS: Final = {"duration": 32, "date": 10, "date-time": 35}
