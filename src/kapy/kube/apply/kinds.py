"""The merge types of whole kinds; those of Kubernetes' own kinds come from facts about Go structs.

The facts are data: by name of a struct its fields, each with `t` its type (`[]` a list of, `{}` a
map of, a struct's name, or a word), `f` "o" if a zero value is left out and "p" of a pointer, `lt`
the list type, `lk` the keys of a list that is a map, `mt` the map type and `d` the default.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kapy.kube import Document
from kapy.kube.apply.types import (
    BOOLEAN,
    DEDUCED,
    NUMERIC,
    OBJECT_META,
    STRING,
    STRIPPED,
    UNTYPED,
    ListType,
    MapType,
    Type,
    type_of_kind,
)

Structs = Mapping[str, Document]

_BASIC_TYPES: Final[dict[str, Type]] = {
    "string": STRING,
    "bytes": STRING,
    "bool": BOOLEAN,
    "int32": NUMERIC,
    "int64": NUMERIC,
    "float64": NUMERIC,
    "any": DEDUCED,
}
_ZEROS: Final[dict[str, Any]] = {"string": "", "bool": False, "int32": 0, "int64": 0}
_ATOMIC: Final = frozenset(
    (
        "autoscaling.v1.CrossVersionObjectReference",
        "core.v1.ConfigMapKeySelector",
        "core.v1.EndpointAddress",
        "core.v1.EndpointPort",
        "core.v1.FileKeySelector",
        "core.v1.LocalObjectReference",
        "core.v1.NodeSelector",
        "core.v1.NodeSelectorTerm",
        "core.v1.ObjectFieldSelector",
        "core.v1.ObjectReference",
        "core.v1.ResourceFieldSelector",
        "core.v1.ScopeSelector",
        "core.v1.ScopedResourceSelectorRequirement",
        "core.v1.SecretKeySelector",
        "core.v1.SecretReference",
        "core.v1.TopologySelectorTerm",
        "core.v1.TypedLocalObjectReference",
        "discovery.v1.EndpointPort",
        "meta.v1.LabelSelector",
        "meta.v1.OwnerReference",
        "networking.v1.ServiceBackendPort",
        "rbac.v1.RoleRef",
        "rbac.v1.Subject",
    )
)
"""Structs that are one field as a whole (`+structType=atomic`)."""


class StructTypes:
    """The merge types of structs, each built once, because a struct may contain itself."""

    def __init__(self, structs: Structs) -> None:
        self._structs = structs
        self._made: dict[str, MapType] = {}

    def struct(self, name: str) -> MapType:
        """Return the type of a struct."""
        map_type = self._made.get(name)
        if map_type is None:
            members: dict[str, Type] = {}
            map_type = MapType(members, atomic=name in _ATOMIC)
            self._made[name] = map_type
            for field, facts in self._structs[name].items():
                members[field] = self._field(facts)
        return map_type

    def _field(self, facts: Mapping[str, Any]) -> Type:
        kind: str = facts["t"]
        if kind.startswith("[]"):
            return self._list(kind[2:], facts)
        result = self._type(kind)
        if isinstance(result, MapType) and "mt" in facts:
            return MapType(result.members, result.element, atomic=facts["mt"] == "atomic")
        return result

    def _type(self, kind: str) -> Type:
        if kind.startswith("[]"):
            return ListType(self._type(kind[2:]))
        if kind.startswith("{}"):
            return MapType({}, self._type(kind[2:]))
        return self.struct(kind) if kind in self._structs else _BASIC_TYPES.get(kind, UNTYPED)

    def _list(self, kind: str, facts: Mapping[str, Any]) -> ListType:
        element = self._type(kind)
        match facts.get("lt"):
            case "set":
                return ListType(element, ())
            case "map":
                keys = tuple(facts["lk"])
                return ListType(element, keys, _defaults(self._structs.get(kind, {}), keys))
        return ListType(element)


def _defaults(members: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    """Return the values of keys that an item may omit: a field that Go always writes has its zero
    value.
    """
    defaults: dict[str, Any] = {}
    for key in keys:
        facts = members.get(key, {})
        if "d" in facts:
            defaults[key] = facts["d"]
        elif "f" not in facts and facts.get("t") in _ZEROS:
            defaults[key] = _ZEROS[facts["t"]]
    return defaults


_OBJECT: Final[Mapping[str, Type]] = {
    "apiVersion": STRIPPED,
    "kind": STRIPPED,
    "metadata": OBJECT_META,
}


class Types:
    """The merge types of one kind in one version.

    typed: the kind is one of Kubernetes' own, which a real server keeps as Go structs: a null
    never stays in it, and an empty list of managedFields resets them. zero: what an object is
    before it is there (the fields that such a struct always writes).
    """

    __slots__ = ("root", "typed", "zero")

    def __init__(self, root: MapType, *, typed: bool, zero: Document | None = None) -> None:
        self.root = root
        self.typed = typed
        self.zero = zero or {}

    @classmethod
    def of_schema(cls, schema: Document) -> Types:
        """Build the types from a CRD's `openAPIV3Schema`; `metadata` gets the types of
        ObjectMeta.
        """
        return cls(type_of_kind(schema), typed=False)

    @classmethod
    def of_struct(cls, structs: Structs, name: str, *, zero: Document) -> Types:
        """Build the types of a built-in kind from facts about its Go structs (see `apply.structs`).
        zero: the document of the struct's zero value.
        """
        map_type = StructTypes(structs).struct(name)
        return cls(MapType({**map_type.members, **_OBJECT}), typed=True, zero=zero)

    @classmethod
    def deduce(cls) -> Types:
        """Build types without a schema: maps merge by key, lists are one field."""
        return cls(MapType(_OBJECT, DEDUCED), typed=True)
