"""Recognize changes that a reconcile wrote itself, so that they do not requeue its key.

A condition whose text differs each time (by the ID of a failed request) would otherwise requeue the
reconcile that wrote it, which writes it again, and no back-off would ever take effect.

A change is the reconcile's own if only its writes lead from the old state to the new one. Writes of
others before, between or after them count as changes, in whichever order answers and watch events
arrive.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Final

from kapy.engine.store import Change
from kapy.engine.three_way_merge import touches_shared_list
from kapy.kube import Document
from kapy.kube.patch.merge_patch import apply

_SERVERS: Final = ("resourceVersion", "generation", "managedFields")
"""Fields of metadata that the server maintains with each write."""


class OwnWrites:
    """The sequence of object states that one reconcile wrote."""

    __slots__ = ("_before",)

    def __init__(self) -> None:
        self._before: dict[tuple[str, str], str] = {}

    def add(self, before: Document, patch: Document, answer: Document) -> None:
        """Record a merge patch and the response to it, unless others contributed to the new state.

        A patch of a shared list carries the version that was read, so that nothing can have come
        between; for any other patch the response shows it.
        """
        if touches_shared_list(patch) or _without_server_fields(
            apply(before, patch)
        ) == _without_server_fields(answer):
            old, new = before["metadata"], answer["metadata"]
            if old["resourceVersion"] != new["resourceVersion"]:
                self._before[new["uid"], new["resourceVersion"]] = old["resourceVersion"]

    def explains(self, change: Change) -> bool:
        """Return whether the writes of this reconcile alone caused the change."""
        if change.old is None or change.new is None:
            return False
        uid: str = change.new["metadata"]["uid"]
        version: str | None = change.new["metadata"]["resourceVersion"]
        while version is not None and version != change.old["metadata"]["resourceVersion"]:
            version = self._before.get((uid, version))
        return version is not None


OF_THIS_RECONCILE: Final[ContextVar[OwnWrites | None]] = ContextVar("OF_THIS_RECONCILE")
"""Where drafts tell what they wrote; not set where nobody asks."""


def _without_server_fields(document: Document) -> Document:
    metadata = {key: value for key, value in document["metadata"].items() if key not in _SERVERS}
    return {**document, "metadata": metadata}
