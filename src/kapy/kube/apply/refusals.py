"""Refusals of a server-side apply: a configuration that does not fit, or conflicts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from kapy.kube import Document
from kapy.kube.apply.fields import Fields, count, difference, paths
from kapy.kube.apply.kinds import Types
from kapy.kube.apply.managers import Identity
from kapy.kube.apply.type_errors import type_error_text
from kapy.kube.errors import ApiError, BadRequest, Conflict
from kapy.kube.field_errors import limit_messages
from kapy.kube.names import split_api_version

_FIELD: Final = re.compile(r"Go struct field \S+ of type (\S+)")
_FRACTION: Final = re.compile(r"unmarshal number \S*[.eE]\S* into .* of type int")


def check_applied(types: Types, applied: Document) -> None:
    """Check that a configuration has no managedFields and fits the types. Raises BadRequest,
    ApplyFailed.
    """
    if isinstance(_metadata(applied).get("managedFields"), list):
        raise BadRequest("metadata.managedFields must be nil")
    if text := type_error_text(types.root, applied):
        raise apply_failed(f"failed to create typed patch object ({_object_text(applied)}): {text}")


def conversion_error(applied: Document, problem: str) -> ApplyFailed:
    """Return the error for a configuration that fits the types but not Go's struct, such as an
    invalid time or a fraction in an integer field. problem: the message of the body's decoder.
    """
    text = _FIELD.sub(r"Go value of type \1", problem)
    if _FRACTION.search(problem):
        text = "cannot convert float64 to int64"
    kind = _object_text(applied).partition("; ")[2]
    result = f"to proper version: unable to convert unstructured object to {kind}: {text}"
    return apply_failed(f"failed to convert new object ({_object_text(applied)}) {result}")


def check_live(types: Types, live: Document) -> None:
    """Check that the object fits the types: it may have been written in another version, or before
    the schema changed. Raises ApplyFailed.
    """
    if text := type_error_text(types.root, live, repeated=True):
        raise apply_failed(f"failed to create typed live object ({_object_text(live)}): {text}")


def _metadata(document: Document) -> Document:
    metadata = document.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _object_text(document: Document) -> str:
    """Return namespace, name, version and kind of an object as text."""
    group, version = split_api_version(document["apiVersion"])
    metadata = _metadata(document)
    parts = (metadata.get(field, "") for field in ("namespace", "name"))
    name = "/".join(part if isinstance(part, str) else "" for part in parts)
    return f"{name}; {f'{group}/' if group else '/'}{version}, Kind={document['kind']}"


class ApplyFailed(ApiError):
    """An apply for which kube-apiserver answers 500 without a reason, although the client made the
    mistake.
    """


def apply_failed(message: str) -> ApplyFailed:
    """Return the error with the Status that kube-apiserver sends."""
    status: Document = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "code": 500,
    }
    return ApplyFailed(message, status=status)


class Conflicts(Exception):
    """The conflicts of an apply without force: the contested fields by manager."""

    def __init__(self, contested: Mapping[Identity, Fields]) -> None:
        super().__init__()
        self.contested = contested

    def without(self, allowed: Fields) -> Conflicts | None:
        """Return the conflicts without some fields; None if none is left."""
        others = {who: difference(fields, allowed) for who, fields in self.contested.items()}
        others = {who: fields for who, fields in others.items() if fields}
        return Conflicts(others) if others else None

    def error(self) -> Conflict:
        """Return the error response with kube-apiserver's message."""
        messages = {
            who: list(limit_messages(paths(fields))) for who, fields in self.contested.items()
        }
        listed = [(path, who) for who, some in messages.items() for path in some]
        listed.sort(key=lambda entry: (entry[0], entry[1].order()))
        causes = [
            {
                "reason": "FieldManagerConflict",
                "message": f"conflict with {who.display_name()}",
                "field": path,
            }
            for path, who in listed
        ]
        if len(listed) == 1:
            path, who = listed[0]
            text = f"1 conflict: conflict with {who.display_name()}: {path}"
        else:
            total = sum(map(count, self.contested.values()))
            text = f"{total} conflicts: {_by_owner(messages)}"
            if total > len(listed):
                text += f"\nand more: only the first {len(listed)} are shown"
        return Conflict(f"Apply failed with {text}", details={"causes": causes})


def _by_owner(fields_by_owner: Mapping[Identity, list[str]]) -> str:
    lines = []
    for who in sorted(fields_by_owner, key=Identity.order):
        lines.append(f"conflicts with {who.display_name()}:")
        lines += [f"- {path}" for path in fields_by_owner[who]]
    return "\n".join(lines)
