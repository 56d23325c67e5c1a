"""Validates the shape of a server's answers: lists, objects and events.

A broken or malicious server may send anything. The callers of the client rely on `metadata` and its
strings; an answer without them is reported as a failure of the server (502).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kapy.kube import Document
from kapy.kube.digits import has_only_digits
from kapy.kube.errors import ApiError, error_of

_TEXTS: Final = ("name", "namespace", "uid", "resourceVersion")
_OBJECTS: Final = ("labels", "annotations")
_MAX_DIGITS: Final = 20
"""Maximum digits of a resourceVersion, which has 64 bits."""


def invalid_answer(reason: str) -> ApiError:
    """Return the error for an invalid answer."""
    return error_of(502, {"message": f"the answer makes no sense: {reason}"})


def check_object(document: Any) -> None:
    """Raises ServerError unless it is an object with valid metadata."""
    metadata = document.get("metadata") if isinstance(document, dict) else None
    if not isinstance(metadata, dict):
        raise invalid_answer("an object has no metadata")
    for field in _TEXTS:
        value = metadata.get(field)
        if value is not None and not isinstance(value, str):
            raise invalid_answer(f"metadata.{field} is no string")
    if len(metadata.get("resourceVersion") or "") > _MAX_DIGITS:
        raise invalid_answer("metadata.resourceVersion is too long")
    for field in _OBJECTS:
        value = metadata.get(field)
        if value is not None and not isinstance(value, dict):
            raise invalid_answer(f"metadata.{field} is no object")


def check_list(document: Document) -> Sequence[Document]:
    """Return the objects of a list. Raises ServerError unless it is a list with a
    resourceVersion.
    """
    items = document.get("items") or []
    if not isinstance(items, list):
        raise invalid_answer("items is no list")
    check_versioned(document)
    for item in items:
        check_object(item)
    return items


def check_versioned(document: Any) -> None:
    """Raises ServerError unless its metadata has a comparable resourceVersion."""
    check_object(document)
    if not has_only_digits(document["metadata"].get("resourceVersion") or ""):
        raise invalid_answer("metadata.resourceVersion is no number")


def code_of(status: Document, otherwise: int = 500) -> int:
    """Return the code in a Status, if it is a valid HTTP status."""
    code = status.get("code")
    return code if isinstance(code, int) and 400 <= code < 600 else otherwise
