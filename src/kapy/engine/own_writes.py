"""What a reconcile wrote itself is no news to it.

A condition whose text differs each time (by the ID of a request that failed) would otherwise wake
the reconcile that wrote it, which writes it again, and no back-off would ever count.

A change is our own when our own writes alone lead from its old state to its new one. Whatever
somebody else wrote before, between or after them is news, in whichever order answers and watch
events come.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Final

from kapy.engine.rebase import touches_shared_list
from kapy.engine.store import Change
from kapy.kube import Document
from kapy.kube.patch.merge_patch import apply

_SERVERS: Final = ("resourceVersion", "generation", "managedFields")
"""What of metadata the server counts by itself."""


class OwnWrites:
    """Which states of which objects came right after which by what one reconcile wrote."""

    __slots__ = ("_before",)

    def __init__(self) -> None:
        self._before: dict[tuple[str, str], str] = {}

    def add(self, before: Document, patch: Document, answer: Document) -> None:
        """Take in a merge patch and its answer; one in which others had a part is not ours.

        A patch of a shared list carries the version that was read, so that nothing can have come
        between; of any other the answer tells it.
        """
        if touches_shared_list(patch) or _bare(apply(before, patch)) == _bare(answer):
            old, new = before["metadata"], answer["metadata"]
            if old["resourceVersion"] != new["resourceVersion"]:
                self._before[new["uid"], new["resourceVersion"]] = old["resourceVersion"]

    def explain(self, change: Change) -> bool:
        """Whether nobody else had a part in it."""
        if change.old is None or change.new is None:
            return False
        uid: str = change.new["metadata"]["uid"]
        version: str | None = change.new["metadata"]["resourceVersion"]
        while version is not None and version != change.old["metadata"]["resourceVersion"]:
            version = self._before.get((uid, version))
        return version is not None


OF_THIS_RECONCILE: Final[ContextVar[OwnWrites | None]] = ContextVar("OF_THIS_RECONCILE")
"""Where drafts tell what they wrote; not set where nobody asks."""


def _bare(document: Document) -> Document:
    metadata = {key: one for key, one in document["metadata"].items() if key not in _SERVERS}
    return {**document, "metadata": metadata}
