"""JSON patch (RFC 6902) as kube-apiserver applies it.

Where kube-apiserver's library departs from the RFC, so does this: replacing a member that is not
there adds it, copying one gives null, indexes may be negative or have leading zeros, and what
stands before a path's first slash is ignored.
"""

from __future__ import annotations

from typing import Any, Final

from kapy.kube.errors import BadRequest, Invalid, TooLarge
from kapy.kube.patch.editing import Editor
from kapy.kube.patch.pointer import Inapplicable, tokens_of

LIMIT: Final = 10_000
"""How many operations one patch may have."""

COPY_LIMIT: Final = 3 * 1024 * 1024
"""Bytes that all copies of one patch may add."""


def apply(document: Any, operations: Any) -> Any:
    """`document` after all operations, sharing what they left alone.

    Raises BadRequest when `operations` is no list of objects, TooLarge when there are too many,
    Invalid when one does not apply (in which case none does).
    """
    if not isinstance(operations, list):
        raise BadRequest(_not_decodable(operations))
    if len(operations) > LIMIT:
        raise TooLarge(
            "Request entity too large: The allowed maximum operations in a JSON patch is "
            f"{LIMIT}, got {len(operations)}"
        )
    strange = next((one for one in operations if not isinstance(one, dict | None)), None)
    if strange is not None:
        raise BadRequest(_not_decodable(strange, "handlers.jsonPatchOp"))
    patching = _Patching(document)
    try:
        for operation in operations:
            patching.apply(operation or {})
    except Inapplicable as error:
        raise Invalid(
            "the server rejected our request due to an error in our request", details={}
        ) from error
    return patching.editor.document


def _not_decodable(found: Any, wanted: str = "[]handlers.jsonPatchOp") -> str:
    names: dict[type, str] = {dict: "object", list: "array", str: "string", bool: "bool"}
    kind = "null" if found is None else names.get(type(found), "number")
    return f"error decoding patch: json: cannot unmarshal {kind} into Go value of type {wanted}"


class _Patching:
    """The application of one patch: the document so far, and what its copies have added."""

    def __init__(self, document: Any) -> None:
        self.editor = Editor(document)
        self._copied = 0

    def apply(self, operation: dict[str, Any]) -> None:
        """Do one operation. Raises Inapplicable."""
        match operation.get("op"):
            case "add":
                self.editor.add(_path(operation), operation.get("value"))
            case "remove":
                self.editor.remove(_path(operation))
            case "replace" if operation.get("path") == "":
                self.editor.replace_root(operation.get("value"))
            case "replace":
                self.editor.replace(_path(operation), operation.get("value"))
            case "move":
                value = self.editor.found(_path(operation, "from"))
                self.editor.remove(_path(operation, "from"))
                self.editor.add(_path(operation), value)
            case "copy":
                self.editor.add(_path(operation), self._copy(operation))
            case "test":
                self._test(operation)
            case _:
                raise Inapplicable

    def _copy(self, operation: dict[str, Any]) -> Any:
        """The value of a copy: few of them could double a document again and again."""
        value, size = self.editor.copied(self.editor.found(_path(operation, "from")))
        self._copied += size
        if self._copied > COPY_LIMIT:
            raise Inapplicable
        return value

    def _test(self, operation: dict[str, Any]) -> None:
        whole = operation.get("path") == ""
        value = self.editor.root if whole else self.editor.found(_path(operation))
        if not self.editor.equals(value, operation.get("value")):
            raise Inapplicable


def _path(operation: dict[str, Any], which: str = "path") -> list[str]:
    pointer = operation.get(which)
    tokens = tokens_of(pointer) if isinstance(pointer, str) else []
    if not tokens:
        raise Inapplicable
    return tokens
