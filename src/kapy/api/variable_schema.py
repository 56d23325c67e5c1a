"""The schema of a variable as the document that everything about structural schemas works on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kapy.api.cluster_class_variables import JSONSchemaProps
from kapy.kube import Document
from kapy.kube.model import encode

_NOTES: Final = ("description", "x-metadata")
_FLAGS: Final = (
    "uniqueItems",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-int-or-string",
)


def schema_document(schema: JSONSchemaProps) -> Document:
    """Return the schema without descriptions, without unset flags, and without nulls among its
    members.
    """
    return _plain(encode(schema))


def _plain(schema: Mapping[str, Any]) -> Document:
    plain: Document = {}
    for key, value in schema.items():
        if key in _NOTES or (key in _FLAGS and not value):
            continue
        match key:
            case "properties":
                plain[key] = {name: _plain(item) for name, item in value.items()}
            case "additionalProperties" | "items" | "not":
                plain[key] = _plain(value)
            case "allOf" | "anyOf" | "oneOf":
                plain[key] = [_plain(item) for item in value]
            case "enum":
                plain[key] = [item for item in value if item is not None]
            case _:
                plain[key] = value
    return plain
