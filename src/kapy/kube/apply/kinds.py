"""The merge types of whole kinds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kapy.kube import Document
from kapy.kube.apply.structs import Structs, StructTypes
from kapy.kube.apply.types import DEDUCED, OBJECT_META, STRIPPED, MapType, Type, type_of_kind

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
