"""Whether an `openAPIV3Schema` may stand in a CustomResourceDefinition, and is structural.

A structural schema names the type of every field outside of junctors, and says nothing but value
rules inside of them: see "Specifying a structural schema" in Kubernetes' documentation.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Final

from kapy.kube import Document
from kapy.kube.field_errors import FieldError, forbidden, invalid, required
from kapy.kube.regexp import TooCostly, allowance
from kapy.kube.schema.formats import format_of
from kapy.kube.schema.node import compiled
from kapy.kube.schema.patterns import Pattern
from kapy.kube.schema.pruning import Pruning
from kapy.kube.schema.rules import ABSENT
from kapy.kube.schema.validation import validate

_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_UNSUPPORTED: Final = (
    "$ref",
    "additionalItems",
    "definitions",
    "dependencies",
    "id",
    "patternProperties",
)
_STRUCTURAL_ONLY: Final = {
    "type": "must be empty to be structural",
    "description": "must be empty to be structural",
    "title": "must be empty to be structural",
    "default": "must be undefined to be structural",
    "nullable": "must be false to be structural",
    "additionalProperties": "must be undefined to be structural",
    "x-kubernetes-preserve-unknown-fields": "must be false to be structural",
    "x-kubernetes-embedded-resource": "must be false to be structural",
    "x-kubernetes-int-or-string": "must be false to be structural",
    "x-kubernetes-list-type": "must be undefined to be structural",
    "x-kubernetes-list-map-keys": "must be empty to be structural",
    "x-kubernetes-map-type": "must be undefined to be structural",
}
_BELOW: Final = frozenset(
    ("properties", "additionalProperties", "items", "not", "allOf", "anyOf", "oneOf")
)
_HARMLESS: Final = frozenset((
    "type", "description", "title", "format", "enum", "default", "nullable", "required",
    "properties", "items", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems",
    "minProperties", "maxProperties", "x-kubernetes-validations",
))  # fmt: skip
"""What cannot be wrong by itself in a node of a known type, as nearly all nodes are."""
_EITHER: Final = [{"type": "integer"}, {"type": "string"}]


TOO_LARGE: Final = (
    "its patterns and rules are too large to be checked: make them fewer, shorter or simpler"
)


def schema_errors(schema: Document, path: str) -> list[FieldError]:
    """What is wrong with the schema of one version, in kube-apiserver's words.

    path: where the schema stands (`spec.versions[0].schema.openAPIV3Schema`).
    """
    with allowance():
        try:
            errors = [*_root_errors(schema, path), *_node_errors(schema, path, root=True)]
            return errors or list(_default_errors(schema, path))
        except TooCostly:
            return [forbidden(path, TOO_LARGE)]


def field_schema_errors(schema: Document, path: str) -> list[FieldError]:
    """What is wrong with the schema of one field that stands at `path`; what it holds may be
    anything, not only an object. Raises TooCostly where that takes too long to find out."""
    untyped = () if schema.get("type") else _missing_type(schema, path, "")
    with allowance():
        errors = [*untyped, *_node_errors(schema, path)]
        return errors or list(_default_errors(schema, path))


def has_rules(schema: Document) -> bool:
    """Whether any node of the schema has rules."""
    return bool(schema.get("x-kubernetes-validations")) or any(
        has_rules(one) for _, one in _children(schema, "")
    )


def unknown_formats(schema: Any) -> list[str]:
    """Formats that nothing checks, each once, as they stand in the schema."""
    found: dict[str, None] = {}
    _collect_formats(schema, found)
    return list(found)


def _collect_formats(schema: Any, found: dict[str, None]) -> None:
    if not isinstance(schema, dict):
        return
    form = schema.get("format")
    if isinstance(form, str) and form not in _NUMBER_FORMATS and format_of(form) is None:
        found[form] = None
    for _, one in _children(schema, ""):
        _collect_formats(one, found)


_NUMBER_FORMATS: Final = ("", "int32", "int64", "float", "double", "int-or-string")


def _children(schema: Document, path: str) -> Iterable[tuple[str, Any]]:
    """The schemas right below, with their paths."""
    return () if _BELOW.isdisjoint(schema) else _found_below(schema, path)


def _found_below(schema: Document, path: str) -> Iterator[tuple[str, Any]]:
    for name, one in (schema.get("properties") or {}).items():
        yield f"{path}.properties[{name}]", one
    for name in ("additionalProperties", "items", "not"):
        if isinstance(schema.get(name), dict):
            yield f"{path}.{name}", schema[name]
    for name in ("allOf", "anyOf", "oneOf"):
        for index, one in enumerate(schema.get(name) or ()):
            yield f"{path}.{name}[{index}]", one


def _root_errors(schema: Document, path: str) -> Iterator[FieldError]:
    kind = schema.get("type") or ""
    if not kind:
        yield required(f"{path}.type", "must not be empty at the root")
    elif kind != "object":
        yield invalid(f"{path}.type", kind, "must be object at the root")
    if schema.get("additionalProperties") is not None:
        yield forbidden(f"{path}.additionalProperties", "must not be used at the root")
    metadata = (schema.get("properties") or {}).get("metadata") or {}
    if not set(metadata.get("properties") or ()) <= {"name", "generateName"}:
        yield forbidden(
            f"{path}.properties[metadata]",
            "must not specify anything other than name and generateName, "
            "but metadata is implicitly specified",
        )


def _node_errors(schema: Document, path: str, *, root: bool = False) -> Iterator[FieldError]:
    """Of a node outside of junctors."""
    if not (_HARMLESS.issuperset(schema) and schema.get("type") in _TYPES):
        yield from _plain_errors(schema, path)
        yield from _type_errors(schema, path, root=root)
        yield from _extension_errors(schema, path)
    if schema.get("type") == "array" and not isinstance(schema.get("items"), dict):
        yield required(f"{path}.items", "must be specified")
    for below, one in _children(schema, path):
        last = below[len(path) :]
        if last.startswith((".allOf", ".anyOf", ".oneOf", ".not")):
            yield from _junctor_errors(one, below, either=_may_name_types(schema, last))
        else:
            if not one.get("type"):
                yield from _missing_type(one, below, last)
            yield from _node_errors(one, below)


def _missing_type(schema: Document, path: str, last: str) -> Iterator[FieldError]:
    """Of a node without a type."""
    loose = schema.get("x-kubernetes-preserve-unknown-fields") or schema.get(
        "x-kubernetes-int-or-string"
    )
    if not loose:
        what = "array items" if last == ".items" else "object fields"
        yield required(f"{path}.type", f"must not be empty for specified {what}")


def _may_name_types(schema: Document, last: str) -> bool:
    """Whether a junctor is the one that spells out what int-or-string is."""
    if not schema.get("x-kubernetes-int-or-string"):
        return False
    if last.startswith(".anyOf"):
        return bool(schema.get("anyOf") == _EITHER)
    first = (schema.get("allOf") or [{}])[0]
    return last == ".allOf[0]" and bool(first.get("anyOf") == _EITHER)


def _junctor_errors(schema: Document, path: str, *, either: bool) -> Iterator[FieldError]:
    yield from _plain_errors(schema, path)
    for name, sentence in _STRUCTURAL_ONLY.items():
        if schema.get(name) and not (name == "type" and either):
            yield forbidden(f"{path}.{name}", sentence)
    for below, one in _children(schema, path):
        yield from _junctor_errors(one, below, either=either)


def _plain_errors(schema: Document, path: str) -> Iterator[FieldError]:
    """What may stand nowhere."""
    for name in _UNSUPPORTED:
        if schema.get(name):
            yield forbidden(f"{path}.{name}", f"{name} is not supported")
    if schema.get("uniqueItems"):
        yield forbidden(
            f"{path}.uniqueItems",
            "uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
        )
    if schema.get("properties") and schema.get("additionalProperties") is not None:
        yield forbidden(
            f"{path}.additionalProperties",
            "additionalProperties and properties are mutual exclusive",
        )
    pattern = schema.get("pattern")
    if pattern and (problem := Pattern(pattern).error):
        text = f"must be a valid regular expression, but isn't: {problem}"
        yield invalid(f"{path}.pattern", pattern, text)


def _type_errors(schema: Document, path: str, *, root: bool) -> Iterator[FieldError]:
    kind = schema.get("type")
    if kind and not root and kind not in _TYPES:
        yield _unknown(f"{path}.type", kind, _TYPES)
    preserve = schema.get("x-kubernetes-preserve-unknown-fields")
    if preserve is not None and not preserve:
        where = f"{path}.x-kubernetes-preserve-unknown-fields"
        yield invalid(where, preserve, "must be true or undefined")
    if schema.get("x-kubernetes-embedded-resource"):
        if not preserve and not schema.get("properties"):
            yield required(
                f"{path}.properties",
                "must not be empty if x-kubernetes-embedded-resource is true without "
                "x-kubernetes-preserve-unknown-fields",
            )
        if kind != "object":
            text = "must be object if x-kubernetes-embedded-resource is true"
            yield invalid(f"{path}.type", kind or "", text)


def _unknown(path: str, value: Any, known: tuple[str, ...]) -> FieldError:
    words = ", ".join(json.dumps(one) for one in known)
    return FieldError("FieldValueNotSupported", path, f"supported values: {words}", value)


def _extension_errors(schema: Document, path: str) -> Iterator[FieldError]:
    map_type = schema.get("x-kubernetes-map-type")
    if map_type is not None and map_type not in ("atomic", "granular"):
        yield _unknown(f"{path}.x-kubernetes-map-type", map_type, ("atomic", "granular"))
    list_type = schema.get("x-kubernetes-list-type")
    if list_type is None:
        return
    items = schema.get("items") or {}
    if list_type not in ("atomic", "set", "map"):
        yield _unknown(f"{path}.x-kubernetes-list-type", list_type, ("atomic", "set", "map"))
    elif schema.get("type") != "array":
        text = "must be array if x-kubernetes-list-type is specified"
        yield invalid(f"{path}.type", schema.get("type") or "", text)
    elif list_type == "map":
        yield from _list_map_errors(schema, items, path)
    elif list_type == "set":
        yield from _set_errors(items, path)


def _set_errors(items: Document, path: str) -> Iterator[FieldError]:
    suffix = "must be atomic as item of a list with x-kubernetes-list-type=set"
    if items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic":
        value = items.get("x-kubernetes-map-type")
        yield invalid(f"{path}.items.x-kubernetes-map-type", value, suffix)
    if items.get("type") == "array" and items.get("x-kubernetes-list-type") not in (None, "atomic"):
        value = items.get("x-kubernetes-list-type")
        yield invalid(f"{path}.items.x-kubernetes-list-type", value, suffix)


def _list_map_errors(schema: Document, items: Document, path: str) -> Iterator[FieldError]:
    keys = schema.get("x-kubernetes-list-map-keys") or []
    if not keys:
        text = "must not be empty if x-kubernetes-list-type is map"
        yield required(f"{path}.x-kubernetes-list-map-keys", text)
    if items.get("type") != "object":
        text = "must be object if parent array's x-kubernetes-list-type is map"
        yield invalid(f"{path}.items.type", items.get("type") or "", text)
        return
    properties = items.get("properties") or {}
    if not set(keys) <= set(properties):
        text = "entries must all be names of item properties"
        yield invalid(f"{path}.x-kubernetes-list-map-keys", keys, text)
    for key in keys:
        member = properties.get(key)
        if member is None:
            continue
        if "default" not in member and key not in (items.get("required") or ()):
            yield required(
                f"{path}.items.properties[{key}].default",
                "this property is in x-kubernetes-list-map-keys, so it must have a default or "
                "be a required property",
            )


def _default_errors(schema: Document, path: str) -> Iterator[FieldError]:
    """Defaults must fit their own schema."""
    default = schema.get("default")
    if default is not None:
        here = f"{path}.default"
        node = compiled(schema, None)
        pruning = Pruning()
        pruning.pruned(node, default, "")
        if pruning.unknown:
            yield invalid(here, default, "must not have unknown fields")
        found: list[FieldError] = []
        validate(node, default, ABSENT, "", found)
        for error in found:
            field = here if error.field in ("", "<nil>") else f"{here}.{error.field}"
            yield replace(error, field=field)
    for below, one in _children(schema, path):
        yield from _default_errors(one, below)
