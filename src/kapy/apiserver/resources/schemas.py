"""The structure of a kind's objects: what the server prunes, defaults, validates and merges by."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kapy.apiserver.resources.structs import decoder
from kapy.kube import Document
from kapy.kube.apply import Tracker, Types
from kapy.kube.field_errors import FieldError
from kapy.kube.schema import Structural


class ObjectSchema:
    """An object of a kind of Kubernetes' own, whose struct is `struct` ("" when not known).

    The field tracker is made when it is first needed, from `types`: the merge types of every
    served version by apiVersion.
    """

    __slots__ = ("_make_types", "_tracker", "struct")

    def __init__(self, make_types: Callable[[], Mapping[str, Types]], struct: str = "") -> None:
        self.struct = struct
        self._make_types = make_types
        self._tracker: Tracker | None = None

    @property
    def tracker(self) -> Tracker:
        """Ownership of fields, over all versions of the kind."""
        if self._tracker is None:
            self._tracker = Tracker(self._make_types())
        return self._tracker

    def decoded(self, document: Document, unknown: list[str]) -> Document:
        """The object pruned and with defaults; paths of unknown fields are added to `unknown`.

        `document` is private to the caller and may be changed or returned. Raises Misfit when a
        field has the wrong type.
        """
        if not self.struct:
            return document
        decoded: Document = decoder(self.struct)(document, None, unknown)
        return decoded

    def errors(self, document: Document, old: Document | None) -> list[FieldError]:
        """What breaks the schema (what `old` already broke may be let through)."""
        del document, old
        return []


class CustomSchema(ObjectSchema):
    """An object of a CRD, in one version."""

    __slots__ = ("_preserve", "_structural")

    def __init__(
        self,
        structural: Structural,
        make_types: Callable[[], Mapping[str, Types]],
        *,
        preserve: bool = False,
    ) -> None:
        super().__init__(make_types)
        self._structural = structural
        self._preserve = preserve

    def decoded(self, document: Document, unknown: list[str]) -> Document:
        if document.get("metadata") is not None:
            misplaced: list[str] = []
            metadata = _metadata(document["metadata"], None, misplaced)
            unknown.extend(f"metadata.{path}" for path in misplaced)
            document = {**document, "metadata": metadata}
        document = self._structural.default(document)
        if self._preserve:
            return document
        document, dropped = self._structural.prune(document)
        unknown.extend(dropped)
        return document

    def errors(self, document: Document, old: Document | None) -> list[FieldError]:
        return self._structural.validate(document, old)


_metadata = decoder("meta.v1.ObjectMeta")
