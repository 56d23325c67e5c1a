"""The patch strategies and merge keys of the fields of Go's structs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from kapy.kube import Document
from kapy.kube.errors import ApiError
from kapy.kube.go_literals import go_quoted, go_type

DIRECTIVE: Final = "$patch"
RETAIN: Final = "$retainKeys"
ORDER: Final = "$setElementOrder"
DELETE_FROM: Final = "$deleteFromPrimitiveList"

_SCALARS: Final = ("string", "bool", "int", "int32", "int64", "float64")
_KINDS: Final = {"bytes": "slice", "any": "interface", "": "interface"}


class PatchFailure(ApiError):
    """A patch for which kube-apiserver answers 500 without a reason."""

    code = 500

    def __init__(self, message: str) -> None:
        status = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": message,
            "code": 500,
        }
        super().__init__(message, status=status)


def wrong_type(expected: Any, actual: Any) -> PatchFailure:
    """Return the error for a value of a patch with the wrong type."""
    return PatchFailure(f"expected a {go_type(expected)}, but received a {go_type(actual)}")


class Field(NamedTuple):
    """The merge behaviour of one field: the type of it or of its items, its strategies, its merge
    key.
    """

    kind: str
    strategies: frozenset[str] = frozenset()
    key: str = ""

    @property
    def go_kind(self) -> str:
        """The kind that Go's reflection reports for the type."""
        return go_kind(self.kind)


def go_kind(kind: str) -> str:
    """Return the kind that Go's reflection reports for a type of the facts."""
    if kind.startswith("[]"):
        return "slice"
    if kind.startswith("{}"):
        return "map"
    return kind if kind in _SCALARS else _KINDS.get(kind, "struct")


class Types:
    """The fields of Go's structs, by the struct's name."""

    def __init__(self, structs: Mapping[str, Document]) -> None:
        self._structs = structs

    def field(self, kind: str, name: str) -> Field:
        """Return the merge behaviour of a field of a struct. Raises PatchFailure."""
        if go_kind(kind) != "struct":
            raise PatchFailure(
                "merging an object in json but data type is not struct, instead is: "
                f"{go_kind(kind)}"
            )
        facts = self._facts(self._structs.get(kind, {}), name)
        if facts is None:
            short = kind.rpartition(".")[2]
            raise PatchFailure(
                f"unable to find api field in struct {short} for the json field {go_quoted(name)}"
            )
        return Field(facts["t"], frozenset(facts.get("ps", "").split(",")), facts.get("mk", ""))

    def list_field(self, kind: str, name: str) -> Field:
        """Return the merge behaviour of a list field, with the type of its items. Raises
        PatchFailure.
        """
        field = self.field(kind, name)
        if not field.kind.startswith("[]"):
            facts = self._facts(self._structs[kind], name) or {}
            if "p" in facts.get("f", ""):
                return field
            raise PatchFailure(f"expected slice or array type, but got: {go_kind(kind)}")
        return field._replace(kind=field.kind[2:])

    def _facts(self, fields: Document, name: str) -> Document | None:
        result: Document | None = fields.get(name)
        if result is None:
            folded = name.casefold()
            same = (facts for key, facts in fields.items() if key.casefold() == folded)
            result = next(same, None)
        return result
