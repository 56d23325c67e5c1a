"""Configurations that a server-side apply refuses before it looks at the object."""

from __future__ import annotations

import re
from typing import Final

from kapy.kube import Document
from kapy.kube.apply.kinds import Types
from kapy.kube.apply.misfits import misfits
from kapy.kube.errors import ApiError, BadRequest
from kapy.kube.names import split_api_version


def check_applied(types: Types, applied: Document) -> None:
    """Refuse a configuration that names field owners, or does not fit the types.

    Raises BadRequest, ApplyFailed.
    """
    if isinstance(_metadata(applied).get("managedFields"), list):
        raise BadRequest("metadata.managedFields must be nil")
    if text := misfits(types.root, applied):
        raise apply_failed(f"failed to create typed patch object ({_shown(applied)}): {text}")


def unconvertible(applied: Document, problem: str) -> ApplyFailed:
    """The error of a configuration that fits the types, but not Go's struct: of a time that is
    none, a fraction of an integer. problem: as the decoder of a body tells it."""
    text = _FIELD.sub(r"Go value of type \1", problem)
    if _FRACTION.search(problem):
        text = "cannot convert float64 to int64"
    kind = _shown(applied).partition("; ")[2]
    said = f"to proper version: unable to convert unstructured object to {kind}: {text}"
    return apply_failed(f"failed to convert new object ({_shown(applied)}) {said}")


_FIELD: Final = re.compile(r"Go struct field \S+ of type (\S+)")
_FRACTION: Final = re.compile(r"unmarshal number \S*[.eE]\S* into .* of type int")


def check_live(types: Types, live: Document) -> None:
    """Refuse to apply to an object that does not fit the types: it was written in another version,
    or before the schema changed. Raises ApplyFailed."""
    if text := misfits(types.root, live, repeated=True):
        raise apply_failed(f"failed to create typed live object ({_shown(live)}): {text}")


def _metadata(document: Document) -> Document:
    metadata = document.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _shown(document: Document) -> str:
    """Namespace, name, version and kind of an object."""
    group, version = split_api_version(document["apiVersion"])
    metadata = _metadata(document)
    parts = (metadata.get(field, "") for field in ("namespace", "name"))
    name = "/".join(one if isinstance(one, str) else "" for one in parts)
    return f"{name}; {f'{group}/' if group else '/'}{version}, Kind={document['kind']}"


class ApplyFailed(ApiError):
    """An apply that kube-apiserver fails at, though the client erred (500 without a reason)."""


def apply_failed(message: str) -> ApplyFailed:
    """The error with the Status that kube-apiserver sends."""
    status: Document = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "code": 500,
    }
    return ApplyFailed(message, status=status)
