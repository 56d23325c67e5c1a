"""Strictness of schema validation; an update does not require what the old version violated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kapy.kube import Document
from kapy.kube.schema.traversal import any_schema, items_schema

TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")


@dataclass(frozen=True, slots=True)
class Strictness:
    """The checks for a schema.

    valid_types: types must be OpenAPI's. structural: the schema must be structural.
    pruned_defaults: defaults may have no unknown fields. atomic_sets: items of sets must be atomic.
    whole_keys: keys of list maps must be required or have a default. cheap_rules: each CEL rule
    must stay within the cost limit.
    """

    valid_types: bool = True
    structural: bool = True
    pruned_defaults: bool = True
    atomic_sets: bool = True
    whole_keys: bool = True
    cheap_rules: bool = True


def strictness_after(old: Sequence[Document], structural: bool, pruned: bool) -> Strictness:  # noqa: FBT001
    """Return the checks for schemas that replace `old` ones.

    structural, pruned: all old schemas were structural, or had only pruned defaults.
    """
    return Strictness(
        valid_types=not _in_any(old, _has_unknown_type),
        structural=structural,
        pruned_defaults=pruned,
        atomic_sets=not _in_any(old, has_granular_set),
        whole_keys=not _in_any(old, has_weak_keys),
    )


def _in_any(schemas: Sequence[Document], test: object) -> bool:
    return any(any_schema(schema, test) for schema in schemas)  # type: ignore[arg-type]


def _has_unknown_type(schema: Document) -> bool:
    return bool(schema.get("type")) and schema["type"] not in TYPES


def has_granular_set(schema: Document) -> bool:
    """Report whether a schema is a set whose items are not atomic."""
    items = items_schema(schema)
    if schema.get("x-kubernetes-list-type") != "set" or items is None:
        return False
    if items.get("type") == "array":
        return items.get("x-kubernetes-list-type") not in (None, "atomic")
    return items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic"


def has_weak_keys(schema: Document) -> bool:
    """Report whether a schema is a set or list map whose items may be null or lack a key."""
    items = items_schema(schema)
    kind = schema.get("x-kubernetes-list-type")
    if items is None or kind not in ("set", "map"):
        return False
    if items.get("nullable"):
        return True
    if kind == "set":
        return False
    return any(is_weak_key(items, key) for key in schema.get("x-kubernetes-list-map-keys") or ())


def is_weak_key(items: Document, key: str) -> bool:
    """Report whether a key of a list map may be absent or null."""
    member = (items.get("properties") or {}).get(key)
    if member is None:
        return False
    sure = key in (items.get("required") or ()) or member.get("default") is not None
    return not sure or bool(member.get("nullable"))
