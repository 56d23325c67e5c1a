"""Nodes of workload clusters: found by provider ID, and the time limit of their deletion.

The time of `nodeDeletionTimeoutSeconds` begins with the first attempt: earlier steps of a deletion,
above all a drain, do not use it up. It is kept in memory only; after a restart it begins again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from kapy.engine.cache import Informer
from kapy.kube import Document, Key

BY_PROVIDER_ID: Final = "providerID"


LEAST_TRIES: Final = 2
"""The minimum number of attempts that must have reached the cluster before the deletion is given
up. One attempt without a response could use up the whole time limit."""


def provider_id_of(node: Document) -> str:
    """Return `spec.providerID` of a Node, "" if it has none yet."""
    result: str = (node.get("spec") or {}).get("providerID") or ""
    return result


def nodes_with(nodes: Informer[Document], provider_id: str) -> Sequence[Document]:
    """Return the Nodes that have a provider ID: normally one."""
    nodes.add_index(BY_PROVIDER_ID, _provider_ids)
    return nodes.list_by_index(BY_PROVIDER_ID, provider_id)


def _provider_ids(node: Document) -> Iterable[str]:
    provider_id = provider_id_of(node)
    return (provider_id,) if provider_id else ()


@dataclass(slots=True)
class NodeDeletion:
    """The deletion of the Nodes of one object (by its uid). tries: attempts that reached the
    workload cluster."""

    uid: str
    since: datetime
    tries: int = 0

    def remaining(self, limit: int | None, now: datetime) -> timedelta | None:
        """Return how much time is left, None if there is no limit (0 is none)."""
        if not limit or limit < 0:
            return None
        return self.since + timedelta(seconds=limit) - now

    def is_over(self, limit: int | None, now: datetime, *, connected: bool) -> bool:
        """Return whether the time limit of the deletion is over, so that its caller continues
        without it. connected: whether the workload cluster is connected.
        """
        remaining = self.remaining(limit, now)
        if remaining is None or remaining > timedelta(0):
            return False
        return not connected or self.tries >= LEAST_TRIES


class NodeDeletions:
    """The running Node deletions, by the object that owns the Nodes."""

    def __init__(self) -> None:
        self._begun: dict[Key, NodeDeletion] = {}

    def of(self, owner: Key, uid: str, now: datetime) -> NodeDeletion:
        """Return the deletion of an owner's Nodes, which begins now if it has not begun yet."""
        node_deletion = self._begun.get(owner)
        if node_deletion is None or node_deletion.uid != uid:
            node_deletion = self._begun[owner] = NodeDeletion(uid, now)
        return node_deletion

    def forget(self, owner: Key) -> None:
        """Forget the Node deletion of an owner that is deleted."""
        self._begun.pop(owner, None)
