"""Merge types of Kubernetes' own kinds, from the facts about their Go structs.

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
    STRING,
    UNTYPED,
    ListType,
    MapType,
    Type,
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
