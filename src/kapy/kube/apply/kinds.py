"""The merge types of whole kinds."""

from __future__ import annotations

from kapy.kube import Document
from kapy.kube.apply.built_in import KINDS
from kapy.kube.apply.types import NAMED, OBJECT_META, STRIPPED, MapType, type_of_kind


class Types:
    """The merge types of one kind in one version.

    typed: the kind is one of Kubernetes' own, which a real server keeps as Go structs: a null
    never stays in it, and an empty list of managedFields resets them.
    """

    __slots__ = ("root", "typed")

    def __init__(self, root: MapType, *, typed: bool) -> None:
        self.root = root
        self.typed = typed

    @classmethod
    def of_schema(cls, schema: Document) -> Types:
        """From a CRD's `openAPIV3Schema`; `metadata` gets the types of ObjectMeta."""
        return cls(type_of_kind(schema), typed=False)

    @classmethod
    def built_in(cls, group: str, version: str, kind: str) -> Types:  # noqa: ARG003
        """The types of a kind of Kubernetes' own; unknown kinds are deduced from the values."""
        members = {
            **KINDS.get((group, kind), {}),
            "apiVersion": STRIPPED,
            "kind": STRIPPED,
            "metadata": OBJECT_META,
        }
        return cls(MapType(members, NAMED, named=True), typed=True)
