"""The part of an object that is moved, and the check that it has arrived. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from kapy.kube import Document

_SERVER_FIELDS: Final = frozenset(
    {
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "selfLink",
        "managedFields",
        "ownerReferences",
        "generateName",
    }
)
_VOLATILE_FIELDS: Final = frozenset({"resourceVersion", "generation", "managedFields"})
_NAMED: Final = frozenset({"finalizers", "ownerReferences"})
"""Metadata lists to which other clients may add items."""


def movable_content(document: Document, *, status: bool) -> Document:
    """Return the object without its status. status: whether its kind has a status subresource."""
    if not status or "status" not in document:
        return document
    return {name: value for name, value in document.items() if name != "status"}


def compared_content(document: Document) -> Document:
    """Return the part of a movable object that no server changes by itself; it is equal until a
    client writes.
    """
    metadata = {
        name: value for name, value in document["metadata"].items() if name not in _VOLATILE_FIELDS
    }
    return {**document, "metadata": metadata}


def content_to_create(document: Document, owners: Sequence[Document]) -> Document:
    """Return the object as it is written to another cluster, with its owners' UIDs there."""
    metadata = {
        name: value for name, value in document["metadata"].items() if name not in _SERVER_FIELDS
    }
    if owners:
        metadata["ownerReferences"] = list(owners)
    return {**document, "metadata": metadata}


def differences(expected: Document, actual: Document) -> Iterator[str]:
    """Paths of fields in which an object lacks or differs from the written content.

    Fields that a server or a webhook added are no difference, nor are omitted empty values.
    """
    for name in expected:
        if name != "metadata":
            yield from _lacking_values(expected[name], actual.get(name), name)
    metadata = actual["metadata"]
    for name, value in expected["metadata"].items():
        path = f"metadata.{name}"
        if name in _NAMED:
            missing = [item for item in value if item not in (metadata.get(name) or ())]
            yield from [path] if missing else []
        else:
            yield from _lacking_values(value, metadata.get(name), path)


def _lacking_values(expected: Any, actual: Any, path: str) -> Iterator[str]:
    if expected is actual or expected == actual:
        return
    if isinstance(expected, dict) and (isinstance(actual, dict) or actual is None):
        for name, value in expected.items():
            yield from _lacking_values(value, (actual or {}).get(name), f"{path}.{name}")
    elif isinstance(expected, list) and isinstance(actual, list):
        yield from _missing_fields(expected, actual, path)
    elif actual is not None or expected not in (None, []):
        yield path


def _missing_fields(expected: list[Any], actual: list[Any], path: str) -> Iterator[str]:
    """Whether wanted items are missing. Other items may stand between them, but the order must be
    kept."""
    rest = iter(actual)
    for number, value in enumerate(expected):
        if not any(next(_lacking_values(value, item, ""), None) is None for item in rest):
            yield f"{path}[{number}]"
            return
