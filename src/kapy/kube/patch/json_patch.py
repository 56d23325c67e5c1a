"""JSON patch (RFC 6902) as kube-apiserver applies it.

Where kube-apiserver's library departs from the RFC, so does this: replacing a member that is not
there adds it, copying one gives null, indexes may be negative or have leading zeros, and what
stands before a path's first slash is ignored.
"""

from __future__ import annotations

from typing import Any, Final

from kapy.kube.errors import BadRequest, Invalid, TooLarge
from kapy.kube.patch.editing import CannotApply, DocumentEditor, parse_pointer

MAX_OPERATIONS: Final = 10_000
"""How many operations one patch may have."""

COPY_LIMIT: Final = 3 * 1024 * 1024
"""Bytes that all copies of one patch may add."""


def apply(document: Any, operations: Any) -> Any:
    """Return `document` after all operations; unchanged parts are shared.

    Raises BadRequest if `operations` is not a list of objects, TooLarge if there are too many,
    Invalid if one does not apply; then none is applied.
    """
    if not isinstance(operations, list):
        raise BadRequest(_decode_error(operations))
    if len(operations) > MAX_OPERATIONS:
        raise TooLarge(
            "Request entity too large: The allowed maximum operations in a JSON patch is "
            f"{MAX_OPERATIONS}, got {len(operations)}"
        )
    strange = next((item for item in operations if not isinstance(item, dict | None)), None)
    if strange is not None:
        raise BadRequest(_decode_error(strange, "handlers.jsonPatchOp"))
    patching = _PatchRun(document)
    try:
        for operation in operations:
            patching.apply(operation or {})
    except CannotApply as error:
        raise Invalid(
            "the server rejected our request due to an error in our request", details={}
        ) from error
    return patching.editor.document


def _decode_error(value: Any, expected: str = "[]handlers.jsonPatchOp") -> str:
    names: dict[type, str] = {dict: "object", list: "array", str: "string", bool: "bool"}
    kind = "null" if value is None else names.get(type(value), "number")
    return f"error decoding patch: json: cannot unmarshal {kind} into Go value of type {expected}"


class _PatchRun:
    """The application of one patch: the current document, and the bytes copied so far."""

    def __init__(self, document: Any) -> None:
        self.editor = DocumentEditor(document)
        self._copied = 0

    def apply(self, operation: dict[str, Any]) -> None:
        """Apply one operation of the patch. Raises CannotApply."""
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
                value = self.editor.value_at(_path(operation, "from"))
                self.editor.remove(_path(operation, "from"))
                self.editor.add(_path(operation), value)
            case "copy":
                self.editor.add(_path(operation), self._copy(operation))
            case "test":
                self._test(operation)
            case _:
                raise CannotApply

    def _copy(self, operation: dict[str, Any]) -> Any:
        """Return the value of a copy operation. The copied bytes are limited, because a few copies
        could double a document repeatedly.
        """
        value, size = self.editor.copy_of(self.editor.value_at(_path(operation, "from")))
        self._copied += size
        if self._copied > COPY_LIMIT:
            raise CannotApply
        return value

    def _test(self, operation: dict[str, Any]) -> None:
        whole = operation.get("path") == ""
        value = self.editor.root if whole else self.editor.value_at(_path(operation))
        if not self.editor.equals(value, operation.get("value")):
            raise CannotApply


def _path(operation: dict[str, Any], field: str = "path") -> list[str]:
    pointer = operation.get(field)
    tokens = parse_pointer(pointer) if isinstance(pointer, str) else []
    if not tokens:
        raise CannotApply
    return tokens
