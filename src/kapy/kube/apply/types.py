"""How fields merge: which lists are sets or maps, which structures are one field."""

from __future__ import annotations

from kapy.kube import Document


class Types:
    """The merge types of one kind in one version."""

    @classmethod
    def of_schema(cls, schema: Document) -> Types:
        """From a CRD's `openAPIV3Schema`; `metadata` gets the types of ObjectMeta."""
        raise NotImplementedError

    @classmethod
    def built_in(cls, group: str, version: str, kind: str) -> Types:
        """The types of a kind of Kubernetes' own; unknown kinds are deduced from the values."""
        raise NotImplementedError
