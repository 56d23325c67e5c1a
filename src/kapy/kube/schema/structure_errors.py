"""Validation that a schema is structural.

A structural schema specifies the type of every field outside of allOf, anyOf, oneOf and not
(junctors), and only value validations inside them. See "Specifying a structural schema" in
Kubernetes' documentation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Literal, TypeAlias

from kapy.kube import Document
from kapy.kube.field_errors import FieldError, forbidden, invalid, required
from kapy.kube.schema.formats import Pattern
from kapy.kube.schema.traversal import JUNCTORS, additional_schema, items_schema

Level: TypeAlias = Literal["root", "item", "field"]

_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_EITHER: Final = "x-kubernetes-int-or-string"
_NOT_NESTED: Final = {
    "type": "empty",
    "additionalProperties": "undefined",
    "default": "undefined",
    "title": "empty",
    "description": "empty",
    "nullable": "false",
    _PRESERVE: "false",
    _EMBEDDED: "false",
    _EITHER: "false",
    "x-kubernetes-list-map-keys": "empty",
    "x-kubernetes-list-type": "undefined",
    "x-kubernetes-map-type": "undefined",
    "x-kubernetes-validations": "empty",
}
"""Fields that are forbidden in junctors, and the value that they must have there."""

_INT_OR_STRING: Final = [{"type": "integer"}, {"type": "string"}]
_HARMLESS: Final = frozenset((
    "type", "description", "title", "format", "enum", "default", "nullable", "required",
    "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "minProperties",
    "maxProperties", "x-kubernetes-validations", "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys", "x-kubernetes-map-type",
))  # fmt: skip
"""Fields that cannot make a typed node non-structural; most leaves have only these."""

_UNSUPPORTED: Final = (
    ("id", "id"),
    ("$schema", "schema"),
    ("$ref", "$ref"),
    ("patternProperties", "patternProperties"),
    ("dependencies", "dependencies"),
    ("additionalItems", "additionalItems"),
    ("definitions", "definitions"),
)


def unreadable(schema: Document) -> str:
    """Return the reason why a schema cannot be read as a structural one, "" if it can."""
    for field, item in _UNSUPPORTED:
        if schema.get(field) or (field == "additionalItems" and field in schema):
            return f"OpenAPIV3Schema '{item}' is not supported"
    problem = next(filter(None, map(unreadable, _of_values(schema))), "")
    if problem:
        return problem
    if schema.get(_PRESERVE) is False:
        return f"internal error: '{_PRESERVE}' must be true or undefined"
    if isinstance(schema.get("items"), list):
        return "OpenAPIV3Schema 'items' must be a schema, but is an array"
    return next(filter(None, map(unreadable, _of_structure(schema))), "")


def _of_values(schema: Document) -> Iterator[Document]:
    if schema.get("not") is not None:
        yield schema["not"]
    for name in JUNCTORS:
        yield from schema.get(name) or ()


def _of_structure(schema: Document) -> Iterator[Document]:
    if items := items_schema(schema):
        yield items
    yield from (schema.get("properties") or {}).values()
    if more := additional_schema(schema):
        yield more


def structure_errors(schema: Document, path: str, level: Level = "root") -> list[FieldError]:
    """Return the errors that keep a schema from being structural, sorted like in kube-apiserver.

    Only the junctors of a whole object must name fields that are specified outside of them, too.
    """
    errors = list(_node_errors(schema, level, path))
    if level == "root":
        errors += _incomplete(schema, schema, path, path)
    return sorted(errors, key=lambda error: str(error).encode())


def _node_errors(schema: Document, level: Level, path: str) -> Iterator[FieldError]:
    """Yield the errors of a node outside of junctors, and of its descendants."""
    if level != "root" and schema.get("type") and _HARMLESS.issuperset(schema):
        if schema["type"] == "array":
            yield required(f"{path}.items", "must be specified")
        return
    items = items_schema(schema)
    if items is not None:
        yield from _node_errors(items, "item", f"{path}.items")
    elif schema.get("type") == "array":
        yield required(f"{path}.items", "must be specified")
    for name, subschema in (schema.get("properties") or {}).items():
        yield from _node_errors(subschema, "field", f"{path}.properties[{name}]")
    if schema.get("additionalProperties") is not None:
        if level == "root":
            yield forbidden(f"{path}.additionalProperties", "must not be used at the root")
        if (more := additional_schema(schema)) is not None:
            yield from _node_errors(more, "field", f"{path}.additionalProperties")
    yield from _extension_errors(schema, path)
    yield from _value_errors(
        schema,
        path,
        skip_any=schema.get("anyOf") == _INT_OR_STRING,
        skip_first=_first_any_of(schema) == _INT_OR_STRING,
    )
    yield from _type_errors(schema, level, path)
    yield from _meta_errors(schema, level, path)
    if schema.get(_EMBEDDED) and not schema.get(_PRESERVE) and not schema.get("properties"):
        yield required(
            f"{path}.properties",
            f"must not be empty if {_EMBEDDED} is true without {_PRESERVE}",
        )


def _first_any_of(schema: Document) -> Any:
    return (schema.get("allOf") or [{}])[0].get("anyOf")


def _extension_errors(schema: Document, path: str) -> Iterator[FieldError]:
    if schema.get(_EITHER):
        for name in (_PRESERVE, _EMBEDDED):
            if schema.get(name):
                yield invalid(f"{path}.{name}", schema[name], f"must be false if {_EITHER} is true")


_EMPTY_TYPE: Final = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}


def _type_errors(schema: Document, level: Level, path: str) -> Iterator[FieldError]:
    kind, where = schema.get("type") or "", f"{path}.type"
    if schema.get(_EMBEDDED) and kind != "object":
        text = f"must be object if {_EMBEDDED} is true"
        yield invalid(where, kind, text) if kind else required(where, text)
    elif not kind and not schema.get(_EITHER) and not schema.get(_PRESERVE):
        yield required(where, _EMPTY_TYPE[level])
    if schema.get(_EMBEDDED) and schema.get("additionalProperties") is not None:
        text = f"must not be used if {_EMBEDDED} is set"
        yield forbidden(f"{path}.additionalProperties", text)
    if level == "root" and kind and kind != "object":
        yield invalid(where, kind, "must be object at the root")


def _meta_errors(schema: Document, level: Level, path: str) -> Iterator[FieldError]:
    """Yield the errors of the schema of a whole object's type and metadata."""
    properties = schema.get("properties") or {}
    whole = level == "root" or bool(schema.get(_EMBEDDED))
    for name in ("kind", "apiVersion"):
        if whole and name in properties and properties[name].get("type") != "string":
            where = f"{path}.properties[{name}].type"
            yield invalid(where, properties[name].get("type") or "", "must be string")
    metadata = properties.get("metadata")
    if metadata is None:
        return
    where = f"{path}.properties[metadata]"
    if whole and metadata.get("type") != "object":
        yield invalid(f"{where}.type", metadata.get("type") or "", "must be object")
    if level == "root" and _restricts_more(metadata):
        text = (
            "must not specify anything other than name and generateName, but metadata is "
            "implicitly specified"
        )
        yield forbidden(where, text)


def _restricts_more(metadata: Document) -> bool:
    """Report whether a schema of metadata restricts more than name and generateName."""
    zeros: tuple[Any, ...] = (None, "", [], {})
    names = {name for name, value in metadata.items() if value is not False and value not in zeros}
    if set(metadata.get("properties") or ()) <= {"name", "generateName"}:
        names.discard("properties")
    return bool(names - {"type", "default"})


def _value_errors(
    schema: Document, path: str, *, skip_any: bool = False, skip_first: bool = False
) -> Iterator[FieldError]:
    """Yield the errors of value validations.

    skip_any: anyOf expresses int-or-string. skip_first: the first of allOf does.
    """
    if not skip_any:
        for index, subschema in enumerate(schema.get("anyOf") or ()):
            yield from _nested_errors(subschema, f"{path}.anyOf[{index}]")
    for index, item in enumerate(schema.get("allOf") or ()):
        first = skip_first and not index
        yield from _nested_errors(item, f"{path}.allOf[{index}]", skip_any=first)
    for index, element in enumerate(schema.get("oneOf") or ()):
        yield from _nested_errors(element, f"{path}.oneOf[{index}]")
    if schema.get("not") is not None:
        yield from _nested_errors(schema["not"], f"{path}.not")
    pattern = schema.get("pattern")
    if pattern and (problem := Pattern(pattern).error):
        text = f"must be a valid regular expression, but isn't: {problem}"
        yield invalid(f"{path}.pattern", pattern, text)


def _nested_errors(schema: Document, path: str, *, skip_any: bool = False) -> Iterator[FieldError]:
    """Yield the errors of a schema in a junctor."""
    yield from _value_errors(schema, path, skip_any=skip_any)
    if (items := items_schema(schema)) is not None:
        yield from _nested_errors(items, f"{path}.items")
    properties = schema.get("properties") or {}
    for name, subschema in properties.items():
        yield from _nested_errors(subschema, f"{path}.properties[{name}]")
    for name, wanted in _NOT_NESTED.items():
        value = schema.get(name)
        if _is_specified(name, value):
            yield forbidden(f"{path}.{name}", f"must be {wanted} to be structural")
    if "metadata" in properties:
        text = "must not be specified in a nested context"
        yield forbidden(f"{path}.properties[metadata]", text)


def _is_specified(name: str, value: Any) -> bool:
    if name == "additionalProperties":
        return value is not None and value is not False
    return value is not None if _NOT_NESTED[name] == "undefined" else bool(value)


def _incomplete(
    values: Document, structure: Document | None, path: str, specified: str
) -> Iterator[FieldError]:
    """Yield errors for fields that only junctors specify. specified: their paths."""
    if (rejected := values.get("not")) is not None:
        yield from _incomplete_nested(rejected, structure, path, f"{specified}.not")
    for name in JUNCTORS:
        for index, item in enumerate(values.get(name) or ()):
            yield from _incomplete_nested(item, structure, path, f"{specified}.{name}[{index}]")


def _incomplete_nested(
    values: Document, structure: Document | None, path: str, specified: str
) -> Iterator[FieldError]:
    if structure is None:
        yield required(path, f"because it is defined in {specified}")
        return
    yield from _incomplete(values, structure, path, specified)
    if (items := items_schema(values)) is not None:
        below = items_schema(structure)
        yield from _incomplete_nested(items, below, f"{path}.items", f"{specified}.items")
    properties = structure.get("properties") or {}
    for name, subschema in (values.get("properties") or {}).items():
        step = f"properties[{name}]"
        yield from _incomplete_nested(
            subschema, properties.get(name), f"{path}.{step}", f"{specified}.{step}"
        )
