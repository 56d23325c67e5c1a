"""Validation of fields that are forbidden in any CustomResourceDefinition schema."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from kapy.kube import Document
from kapy.kube.field_errors import FieldError, forbidden, invalid, required
from kapy.kube.schema.schema_text import items_text
from kapy.kube.schema.strictness import TYPES, Strictness, has_granular_set
from kapy.kube.schema.structure_errors import unreadable
from kapy.kube.schema.traversal import JUNCTORS, FieldPathError, field_at

_META: Final = frozenset(("metadata", "kind", "apiVersion"))
_LIST: Final = "x-kubernetes-list-type"
_MAP: Final = "x-kubernetes-map-type"
_KEYS: Final = "x-kubernetes-list-map-keys"
_RULES: Final = "x-kubernetes-validations"
_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_REASONS: Final = (
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
)
_BREAK: Final = re.compile(r"[\n\r]")
_PLAIN: Final = frozenset((
    "type", "description", "title", "format", "enum", "nullable", "required", "pattern",
    "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "minProperties",
    "maxProperties", "x-kubernetes-int-or-string",
))  # fmt: skip
"""Fields that cannot cause an error in a node with a known type, as most nodes have only these."""


@dataclass(frozen=True, slots=True)
class _Place:
    """The position of a schema.

    no_default: the reason why it may have no default, None if it may. in_meta: it belongs to the
    metadata or the type of an object.
    """

    path: str
    root: bool = False
    no_default: str | None = None
    in_meta: bool = False

    def below(self, step: str) -> _Place:
        return replace(self, path=f"{self.path}.{step}", root=False)


def openapi_errors(schema: Document, path: str, demands: Strictness) -> list[FieldError]:
    """Return the errors of a schema and all schemas in it."""
    return list(_errors(schema, _Place(path, root=True), demands))


def _errors(schema: Document, place: _Place, demands: Strictness) -> Iterator[FieldError]:
    if _PLAIN.issuperset(schema) and schema.get("type") in TYPES:
        return
    path = place.path
    yield from _unsupported_errors(schema, place, demands)
    if schema.get("uniqueItems"):
        text = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden(f"{path}.uniqueItems", text)
    yield from _below(schema, place, demands)
    if schema.get(_PRESERVE) is False:
        yield invalid(f"{path}.{_PRESERVE}", False, "must be true or undefined")  # noqa: FBT003
    yield from _map_type_errors(schema, path)
    yield from _list_type_errors(schema, path, demands)
    if demands.whole_keys:
        yield from _weak_key_errors(schema, path)
    for index, rule in enumerate(schema.get(_RULES) or ()):
        yield from _rule_errors(schema, rule, f"{path}.{_RULES}[{index}]")


def _below(schema: Document, place: _Place, demands: Strictness) -> Iterator[FieldError]:
    """Yield the errors of the nested schemas."""
    more = schema.get("additionalProperties")
    if more is not None and schema.get("properties") and more is not True:
        text = "additionalProperties and properties are mutual exclusive"
        yield forbidden(f"{place.path}.additionalProperties", text)
    if isinstance(more, dict):
        below = place.below("additionalProperties")
        if place.in_meta:
            reason = "inside additionalProperties applying to object metadata"
            below = replace(below, no_default=reason)
        yield from _errors(more, below, demands)
    whole = place.root or bool(schema.get(_EMBEDDED))
    for name, subschema in (schema.get("properties") or {}).items():
        below = place.below(f"properties[{name}]")
        if whole and name in _META:
            below = replace(below, in_meta=True)
            if place.root:
                below = replace(below, no_default=f"in top-level {name}")
        yield from _errors(subschema, below, demands)
    for step, item in _others(schema):
        yield from _errors(item, place.below(step), demands)


def _others(schema: Document) -> Iterator[tuple[str, Document]]:
    """Yield the nested schemas other than properties, each with its path segment."""
    if schema.get("not") is not None:
        yield "not", schema["not"]
    for name in JUNCTORS:
        for index, item in enumerate(schema.get(name) or ()):
            yield f"{name}[{index}]", item
    for name in ("definitions", "dependencies"):
        for key, value in (schema.get(name) or {}).items():
            if isinstance(value, dict):
                yield f"{name}[{key}]", value
    items = schema.get("items")
    if isinstance(items, dict):
        yield "items", items
    for index, element in enumerate(items if isinstance(items, list) else ()):
        yield f"items[{index}]", element


def _unsupported_errors(
    schema: Document, place: _Place, demands: Strictness
) -> Iterator[FieldError]:
    path, kind = place.path, schema.get("type") or ""
    if demands.valid_types and kind and kind not in TYPES:
        yield _not_supported_error(f"{path}.type", kind, TYPES)
    if schema.get("default") is not None and place.no_default is not None:
        yield forbidden(f"{path}.default", f"must not be set {place.no_default}")
    for name in ("id", "additionalItems", "patternProperties", "definitions", "dependencies"):
        if schema.get(name) or (name in ("additionalItems", "dependencies") and name in schema):
            yield forbidden(f"{path}.{name}", f"{name} is not supported")
    if schema.get("$ref") is not None:
        yield forbidden(f"{path}.$ref", "$ref is not supported")
    if kind == "null":
        text = "type cannot be set to null, use nullable as an alternative"
        yield forbidden(f"{path}.type", text)
    if isinstance(schema.get("items"), list):
        yield forbidden(f"{path}.items", "items must be a schema object and not an array")
    if place.in_meta and schema.get(_EMBEDDED):
        yield forbidden(f"{path}.{_EMBEDDED}", "must not be used inside of resource meta")


def _not_supported_error(path: str, value: Any, supported: tuple[str, ...]) -> FieldError:
    words = ", ".join(json.dumps(item) for item in supported)
    return FieldError("FieldValueNotSupported", path, f"supported values: {words}", value)


def _wrong_type(schema: Document, path: str, expected: str, field: str) -> FieldError:
    kind, text = schema.get("type") or "", f"must be {expected} if {field} is specified"
    return invalid(f"{path}.type", kind, text) if kind else required(f"{path}.type", text)


def _map_type_errors(schema: Document, path: str) -> Iterator[FieldError]:
    kind = schema.get(_MAP)
    if kind is None:
        return
    if schema.get("type") != "object":
        yield _wrong_type(schema, path, "object", _MAP)
    if kind not in ("atomic", "granular"):
        yield _not_supported_error(f"{path}.{_MAP}", kind, ("atomic", "granular"))


def _list_type_errors(schema: Document, path: str, demands: Strictness) -> Iterator[FieldError]:
    kind, keys = schema.get(_LIST), schema.get(_KEYS) or []
    if kind is not None and schema.get("type") != "array":
        yield _wrong_type(schema, path, "array", _LIST)
    elif demands.atomic_sets and has_granular_set(schema):
        field = _LIST if schema["items"].get("type") == "array" else _MAP
        text = f"must be atomic as item of a list with {_LIST}=set"
        yield invalid(f"{path}.items.{field}", schema["items"].get(_LIST), text)
    if kind is not None and kind not in ("atomic", "set", "map"):
        yield _not_supported_error(f"{path}.{_LIST}", kind, ("atomic", "set", "map"))
    if keys and kind != "map":
        text = f"must be map if {_KEYS} is non-empty"
        where = f"{path}.{_LIST}"
        yield required(where, text) if kind is None else invalid(where, kind, text)
    if kind == "map":
        yield from _list_map_errors(schema, keys, path)


def _list_map_errors(schema: Document, keys: list[str], path: str) -> Iterator[FieldError]:
    items, where = schema.get("items"), f"{path}.{_KEYS}"
    if not keys:
        yield required(where, f"must not be empty if {_LIST} is map")
    if items is None:
        yield required(f"{path}.items", f"must have a schema if {_LIST} is map")
    if isinstance(items, list):
        text = f"must only have a single schema if {_LIST} is map"
        yield invalid(f"{path}.items", items_text(items), text)
    if not isinstance(items, dict):
        return
    if items.get("type") != "object":
        text = f"must be object if parent array's {_LIST} is map"
        yield invalid(f"{path}.items.type", items.get("type") or "", text)
        return
    members = items.get("properties") or {}
    for index, key in enumerate(keys):
        if key not in members:
            yield invalid(where, keys, "entries must all be names of item properties")
        elif members[key].get("type") in ("array", "object"):
            text = f"must be a scalar type if parent array's {_LIST} is map"
            yield invalid(f"{path}.items.properties[{key}].type", "object", text)
        if key in keys[:index]:
            yield invalid(where, keys, "must not contain duplicate entries")


def _weak_key_errors(schema: Document, path: str) -> Iterator[FieldError]:
    items, kind = schema.get("items"), schema.get(_LIST)
    if not isinstance(items, dict) or kind not in ("set", "map"):
        return
    if items.get("nullable"):
        yield forbidden(f"{path}.items.nullable", f"cannot be nullable when {_LIST} is {kind}")
    subject = f"this property is in {_KEYS}, so it"
    for key in (schema.get(_KEYS) or ()) if kind == "map" else ():
        member = (items.get("properties") or {}).get(key)
        if member is None:
            continue
        where = f"{path}.items.properties[{key}]"
        if key not in (items.get("required") or ()) and member.get("default") is None:
            text = f"{subject} must have a default or be a required property"
            yield required(f"{where}.default", text)
        if member.get("nullable"):
            yield forbidden(f"{where}.nullable", f"{subject} cannot be nullable")


def _rule_errors(schema: Document, rule: Document, path: str) -> Iterator[FieldError]:
    yield from _text_errors(rule, path)
    expression = rule.get("messageExpression") or ""
    if expression and not expression.strip():
        text = "messageExpression must be non-empty if specified"
        yield required(f"{path}.messageExpression", text)
    reason = rule.get("reason")
    if reason is not None and reason not in _REASONS:
        yield _not_supported_error(f"{path}.reason", reason, _REASONS)
    field = rule.get("fieldPath") or ""
    if field and not field.strip():
        yield invalid(f"{path}.fieldPath", field, "must be non-empty if specified")
    if _BREAK.search(field):
        yield invalid(f"{path}.fieldPath", field, "must not contain line breaks")
    if field and not unreadable(schema):
        try:
            field_at(schema, field)
        except FieldPathError:
            yield invalid(f"{path}.fieldPath", field, "must be a valid path")


def _text_errors(rule: Document, path: str) -> Iterator[FieldError]:
    source, message = (rule.get("rule") or "").strip(), rule.get("message") or ""
    if not source:
        yield required(f"{path}.rule", "rule is not specified")
    elif message and not message.strip():
        yield invalid(f"{path}.message", message, "must be non-empty if specified")
    elif _BREAK.search(message.strip()):
        yield invalid(f"{path}.message", message, "must not contain line breaks")
    elif _BREAK.search(source) and not message.strip():
        text = "message must be specified if rule contains line breaks"
        yield required(f"{path}.message", text)
