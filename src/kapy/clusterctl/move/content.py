"""The part of an object that is moved, and the check that it has arrived. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from kapy.kube import Document

_OF_THE_SERVER: Final = frozenset(
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
_CHANGING: Final = frozenset({"resourceVersion", "generation", "managedFields"})
_NAMED: Final = frozenset({"finalizers", "ownerReferences"})
"""Metadata lists to which other clients may add items."""


def movable(document: Document, *, status: bool) -> Document:
    """The object without its status. status: whether its kind has a status subresource."""
    if not status or "status" not in document:
        return document
    return {name: value for name, value in document.items() if name != "status"}


def essence(document: Document) -> Document:
    """The part of a movable object that no server changes by itself; it is equal until a client
    writes."""
    metadata = {
        name: value for name, value in document["metadata"].items() if name not in _CHANGING
    }
    return {**document, "metadata": metadata}


def recreated(document: Document, owners: Sequence[Document]) -> Document:
    """The object as it is written to another cluster, with its owners' UIDs there."""
    metadata = {
        name: value for name, value in document["metadata"].items() if name not in _OF_THE_SERVER
    }
    if owners:
        metadata["ownerReferences"] = list(owners)
    return {**document, "metadata": metadata}


def differences(wanted: Document, found: Document) -> Iterator[str]:
    """Paths of fields in which an object lacks or differs from the written content.

    Fields that a server or a webhook added are no difference, nor are omitted empty values.
    """
    for name in wanted:
        if name != "metadata":
            yield from _lacking(wanted[name], found.get(name), name)
    metadata = found["metadata"]
    for name, value in wanted["metadata"].items():
        path = f"metadata.{name}"
        if name in _NAMED:
            missing = [one for one in value if one not in (metadata.get(name) or ())]
            yield from [path] if missing else []
        else:
            yield from _lacking(value, metadata.get(name), path)


def _lacking(wanted: Any, found: Any, path: str) -> Iterator[str]:
    if wanted is found or wanted == found:
        return
    if isinstance(wanted, dict) and (isinstance(found, dict) or found is None):
        for name, value in wanted.items():
            yield from _lacking(value, (found or {}).get(name), f"{path}.{name}")
    elif isinstance(wanted, list) and isinstance(found, list):
        yield from _missing(wanted, found, path)
    elif found is not None or wanted not in (None, []):
        yield path


def _missing(wanted: list[Any], found: list[Any], path: str) -> Iterator[str]:
    """Whether wanted items are missing. Other items may stand between them, but the order must be
    kept."""
    rest = iter(found)
    for number, value in enumerate(wanted):
        if not any(next(_lacking(value, one, ""), None) is None for one in rest):
            yield f"{path}[{number}]"
            return
