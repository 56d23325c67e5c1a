"""Schemas as kube-apiserver's errors print them: all fields of the Go struct by Go's names."""

from __future__ import annotations

from typing import Any, Final

from kapy.kube import Document
from kapy.kube.field_errors import FixedText

FIELDS: Final = (
    ("id", "ID"),
    ("$schema", "Schema"),
    ("$ref", "Ref"),
    ("description", "Description"),
    ("type", "Type"),
    ("nullable", "Nullable"),
    ("format", "Format"),
    ("title", "Title"),
    ("default", "Default"),
    ("maximum", "Maximum"),
    ("exclusiveMaximum", "ExclusiveMaximum"),
    ("minimum", "Minimum"),
    ("exclusiveMinimum", "ExclusiveMinimum"),
    ("maxLength", "MaxLength"),
    ("minLength", "MinLength"),
    ("pattern", "Pattern"),
    ("maxItems", "MaxItems"),
    ("minItems", "MinItems"),
    ("uniqueItems", "UniqueItems"),
    ("multipleOf", "MultipleOf"),
    ("enum", "Enum"),
    ("maxProperties", "MaxProperties"),
    ("minProperties", "MinProperties"),
    ("required", "Required"),
    ("items", "Items"),
    ("allOf", "AllOf"),
    ("oneOf", "OneOf"),
    ("anyOf", "AnyOf"),
    ("not", "Not"),
    ("properties", "Properties"),
    ("additionalProperties", "AdditionalProperties"),
    ("patternProperties", "PatternProperties"),
    ("dependencies", "Dependencies"),
    ("additionalItems", "AdditionalItems"),
    ("definitions", "Definitions"),
    ("externalDocs", "ExternalDocs"),
    ("example", "Example"),
    ("x-kubernetes-preserve-unknown-fields", "XPreserveUnknownFields"),
    ("x-kubernetes-embedded-resource", "XEmbeddedResource"),
    ("x-kubernetes-int-or-string", "XIntOrString"),
    ("x-kubernetes-list-map-keys", "XListMapKeys"),
    ("x-kubernetes-list-type", "XListType"),
    ("x-kubernetes-map-type", "XMapType"),
    ("x-kubernetes-validations", "XValidations"),
)
"""The fields of a schema in Go's order."""

_TEXTS: Final = frozenset(("id", "$schema", "description", "type", "format", "title", "pattern"))
_FLAGS: Final = frozenset(
    (
        "nullable",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "uniqueItems",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-int-or-string",
    )
)
PLAIN_FIELDS: Final = _TEXTS | _FLAGS
"""Fields that are not pointers in Go: an absent one has its zero value."""

_RULE: Final = (
    ("rule", "Rule", ""),
    ("message", "Message", ""),
    ("messageExpression", "MessageExpression", ""),
    ("reason", "Reason", None),
    ("fieldPath", "FieldPath", ""),
    ("optionalOldSelf", "OptionalOldSelf", None),
)


def schema_text(schema: Document) -> FixedText:
    """Return the schema as the value of an error."""
    return FixedText.of(schema_members(schema))


def schema_members(schema: Document) -> Document:
    """Return the schema's fields by Go's names, in Go's order."""
    return {item: _member(name, schema.get(name)) for name, item in FIELDS}


def _member(name: str, value: Any) -> Any:  # noqa: PLR0911 - a table of kinds of fields
    if value is None:
        return "" if name in _TEXTS else False if name in _FLAGS else None
    match name:
        case "items":
            return _items(value)
        case "additionalProperties" | "additionalItems":
            schema = schema_members(value) if isinstance(value, dict) else None
            return {"Allows": value is not False, "Schema": schema}
        case "allOf" | "anyOf" | "oneOf":
            return [schema_members(item) for item in value]
        case "not":
            return schema_members(value)
        case "properties" | "patternProperties" | "definitions":
            return {key: schema_members(value[key]) for key in sorted(value)}
        case "dependencies":
            return {key: _dependency(value[key]) for key in sorted(value)}
        case "externalDocs":
            return {"Description": value.get("description", ""), "URL": value.get("url", "")}
        case "x-kubernetes-validations":
            return [{go: item.get(key, zero) for key, go, zero in _RULE} for item in value]
    return _sort_keys(value)


def items_text(value: Any) -> FixedText:
    """Return the schema of items as the value of an error."""
    return FixedText.of(_items(value))


def _items(value: Any) -> Document:
    if isinstance(value, list):
        return {"Schema": None, "JSONSchemas": [schema_members(item) for item in value]}
    return {"Schema": schema_members(value), "JSONSchemas": None}


def _dependency(value: Any) -> Document:
    if isinstance(value, list):
        return {"Schema": None, "Property": value}
    return {"Schema": schema_members(value) if value else None, "Property": None}


def _sort_keys(value: Any) -> Any:
    """Return a value with sorted keys, as Go prints maps."""
    if isinstance(value, dict):
        return {key: _sort_keys(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_sort_keys(item) for item in value]
    return value
