"""What of an object is moved, and whether it arrived. Pure."""

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
"""Lists of metadata that others may add to."""


def movable(document: Document, *, status: bool) -> Document:
    """The object without its status. status: that is a subresource of its kind."""
    if not status or "status" not in document:
        return document
    return {name: value for name, value in document.items() if name != "status"}


def essence(document: Document) -> Document:
    """What of a movable object no server changes by itself; equal as long as nobody wrote it."""
    metadata = {
        name: value for name, value in document["metadata"].items() if name not in _CHANGING
    }
    return {**document, "metadata": metadata}


def recreated(document: Document, owners: Sequence[Document]) -> Document:
    """The object as it is written to another cluster, with the owners that it has there."""
    metadata = {
        name: value for name, value in document["metadata"].items() if name not in _OF_THE_SERVER
    }
    if owners:
        metadata["ownerReferences"] = list(owners)
    return {**document, "metadata": metadata}


def differences(wanted: Document, found: Document) -> Iterator[str]:
    """Where an object lacks something of what was written, or has it otherwise: paths of fields.

    What a server or a webhook added is no difference; nor is an empty value that it left out.
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
    """Others may stand between the items of a list, but those that are wanted keep their order."""
    rest = iter(found)
    for number, value in enumerate(wanted):
        if not any(next(_lacking(value, one, ""), None) is None for one in rest):
            yield f"{path}[{number}]"
            return
