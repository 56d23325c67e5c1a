"""Merge types of fields: lists that are sets or maps, and structures that are one field.

A kind's types are a tree of the node classes below, after the model of structured-merge-diff's
schemas. Where nothing is known, types are deduced from the values: a map merges key by key, a
list is one field.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, TypeAlias

from kapy.kube import Document
from kapy.kube.apply.fields import html_safe
from kapy.kube.text_cache import MAX_TEXT


class Scalar:
    """The merge type of a single value. what: "string", "numeric", "boolean" or "untyped"."""

    __slots__ = ("what",)

    def __init__(self, what: str) -> None:
        self.what = what


class Untracked:
    """The merge type of a field without ownership: the server's own part of the metadata. what: the
    type that an applied value must have; None if it is not checked.
    """

    __slots__ = ("what",)

    def __init__(self, what: Scalar | ListType | None = None) -> None:
        self.what = what


class Deduced:
    """The merge type of a value without a schema, which is deduced from the value."""

    __slots__ = ()


class MapType:
    """The merge type of a structure or a map. members: the types of the declared fields. element:
    the type of all other members (None: there are none). atomic: whether it is owned as a whole.
    silent: whether the map itself is never owned, only its members (`metadata`).
    """

    __slots__ = ("atomic", "element", "members", "silent")

    def __init__(
        self,
        members: Mapping[str, Type],
        element: Type | None = None,
        *,
        atomic: bool = False,
        silent: bool = False,
    ) -> None:
        self.members = members
        self.element = element
        self.atomic = atomic
        self.silent = silent

    def type_of(self, name: str) -> Type:
        member = self.members.get(name)
        return member if member is not None else self.element or DEDUCED

    def declares(self, name: str) -> bool:
        return name in self.members


class ListType:
    """The merge type of a list. keys: the key fields of a list that is a map; () of a set; None of
    an atomic one. defaults: the values of keys that an item leaves out.
    """

    __slots__ = ("defaults", "element", "keys")

    def __init__(
        self,
        element: Type,
        keys: tuple[str, ...] | None = None,
        defaults: Mapping[str, Any] | None = None,
    ) -> None:
        self.element = element
        self.keys = keys
        self.defaults = defaults or {}


Type: TypeAlias = Scalar | Untracked | Deduced | MapType | ListType

STRING: Final = Scalar("string")
NUMERIC: Final = Scalar("numeric")
BOOLEAN: Final = Scalar("boolean")
UNTYPED: Final = Scalar("untyped")
STRIPPED: Final = Untracked()
DEDUCED: Final = Deduced()

_DEDUCED_MAP: Final = MapType({}, DEDUCED)
_DEDUCED_LIST: Final = ListType(DEDUCED)

OWNER_REFERENCE: Final = MapType(
    {
        **dict.fromkeys(("apiVersion", "kind", "name", "uid"), STRING),
        **dict.fromkeys(("controller", "blockOwnerDeletion"), BOOLEAN),
    },
    atomic=True,
)
STRING_MAP: Final = MapType({}, STRING)
STRING_SET: Final = ListType(STRING, ())


def resolve_deduced(node: Type, value: Any) -> Scalar | MapType | ListType | Untracked:
    """Return the type of a value, with deduction applied to nodes without a schema."""
    if isinstance(node, Deduced):
        if isinstance(value, dict):
            return _DEDUCED_MAP
        return _DEDUCED_LIST if isinstance(value, list) else UNTYPED
    return node


class InvalidItem(ValueError):
    """An item that cannot be in a list of type set or map."""


def item_key(node: ListType, item: Any) -> str:
    """Return the path element of an item, as in FieldsV1: `k:{"name":"a"}` or `v:"a"`. Raises
    InvalidItem.
    """
    if not node.keys:
        return _set_key(item)
    if len(node.keys) == 1 and isinstance(item, dict):
        name = node.keys[0]
        value = item.get(name)
        if isinstance(value, str):
            return _single_key(name, value) if len(value) <= MAX_TEXT else _spell({name: value})
    if not isinstance(item, dict):
        what = "a null element" if item is None else "non-map elements"
        raise InvalidItem(f"associative list with keys may not have {what}")
    values = tuple(
        (key, item[key] if key in item else node.defaults[key])
        for key in node.keys
        if key in item or key in node.defaults
    )
    if not values:
        raise InvalidItem(
            f"associative list with keys has an element that omits all key fields {_go(node.keys)} "
            "(and doesn't have default values for any key fields)"
        )
    # 1, 1.0 and true are one key of a cache.
    if all(
        (type(element) is str and len(element) <= MAX_TEXT) or type(element) is int
        for _, element in values
    ):
        return _map_key(*values)
    return _spell(dict(values))


def _set_key(item: Any) -> str:
    if isinstance(item, str):
        return _value_key(item) if len(item) <= MAX_TEXT else _spell_value(item)
    if isinstance(item, dict):
        raise InvalidItem("associative list without keys has an element that's a map type")
    if isinstance(item, list):
        raise InvalidItem("not supported: associative list with lists as elements")
    if item is None:
        raise InvalidItem("associative list without keys has an element that's an explicit null")
    return "v:" + json.dumps(item)


def _go(keys: tuple[str, ...]) -> str:
    return f"[{' '.join(json.dumps(key) for key in keys)}]"


@lru_cache(maxsize=65536)
def _value_key(item: str) -> str:
    return _spell_value(item)


def _spell_value(item: str) -> str:
    return "v:" + html_safe(json.dumps(item, ensure_ascii=False))


@lru_cache(maxsize=65536)
def _single_key(name: str, value: str) -> str:
    return _spell({name: value})


@lru_cache(maxsize=65536)
def _map_key(*values: tuple[str, Any]) -> str:
    return _spell(dict(values))


def _spell(values: dict[str, Any]) -> str:
    text = json.dumps(values, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return "k:" + html_safe(text)


OBJECT_META: Final = MapType(
    {
        **dict.fromkeys(
            ("name", "namespace", "selfLink", "uid", "resourceVersion"),
            Untracked(STRING),
        ),
        "creationTimestamp": Untracked(UNTYPED),
        "generation": Untracked(NUMERIC),
        "managedFields": Untracked(ListType(DEDUCED)),
        "annotations": STRING_MAP,
        "labels": STRING_MAP,
        "finalizers": STRING_SET,
        "ownerReferences": ListType(OWNER_REFERENCE, ("uid",), {"uid": ""}),
        "deletionGracePeriodSeconds": NUMERIC,
        "deletionTimestamp": UNTYPED,
        "generateName": STRING,
    },
    silent=True,
)
EMBEDDED_META: Final = MapType(
    {
        name: DEDUCED if isinstance(kind, Untracked) else kind
        for name, kind in OBJECT_META.members.items()
    }
)


def type_of_schema(schema: Document) -> Type:
    """Return the merge type of one node of a structural schema."""
    match schema.get("type"):
        case "object":
            return _object(schema)
        case "array":
            return _array(schema)
        case "string":
            return UNTYPED if schema.get("format") == "int-or-string" else STRING
        case "integer" | "number":
            return NUMERIC
        case "boolean":
            return BOOLEAN
    return DEDUCED


def _object(schema: Document) -> Type:
    members = {
        name: type_of_schema(member) for name, member in (schema.get("properties") or {}).items()
    }
    if schema.get("x-kubernetes-embedded-resource"):
        members |= {"apiVersion": STRING, "kind": STRING, "metadata": EMBEDDED_META}
    more = schema.get("additionalProperties")
    if isinstance(more, dict):
        element: Type | None = type_of_schema(more)
    elif more or not members or schema.get("x-kubernetes-preserve-unknown-fields"):
        element = DEDUCED
    else:
        element = None
    return MapType(members, element, atomic=schema.get("x-kubernetes-map-type") == "atomic")


def _array(schema: Document) -> Type:
    items = schema.get("items") or {}
    element = type_of_schema(items)
    match schema.get("x-kubernetes-list-type"):
        case "set":
            return ListType(element, ())
        case "map":
            keys = tuple(schema.get("x-kubernetes-list-map-keys") or ())
            members = items.get("properties") or {}
            defaults = {
                key: members[key]["default"] for key in keys if "default" in members.get(key, {})
            }
            return ListType(element, keys, defaults)
    return ListType(element)


def type_of_kind(schema: Document) -> MapType:
    """Return the merge type of a whole kind: the schema's fields and ObjectMeta."""
    kind = type_of_schema({**schema, "type": "object"})
    assert isinstance(kind, MapType)
    members = {
        **kind.members,
        "apiVersion": STRIPPED,
        "kind": STRIPPED,
        "metadata": OBJECT_META,
    }
    return MapType(members, kind.element if schema.get("properties") else DEDUCED)
