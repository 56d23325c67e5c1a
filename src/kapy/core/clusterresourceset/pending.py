"""The Clusters that a ClusterResourceSet has to process in its next reconcile.

A set may select thousands of Clusters, of which one changes. A change of a Cluster, its connection
or its binding makes only this Cluster pending; a change of the set or of its sources, a resync and
an interrupted reconcile make all of them pending. A Cluster that has to wait for an event, such as
one that is not connected, is not processed before that event.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from kapy.kube import Key

T = TypeVar("T")


@dataclass(slots=True)
class _Set(Generic[T]):
    """The state of one set that has processed all of its Clusters once.

    waiting: the outcomes of Clusters that wait for an event. has_clusters: whether it selects any.
    is_looking: whether a reconcile has taken the pending Clusters.
    """

    clusters: set[Key] = field(default_factory=set)
    waiting: dict[Key, T] = field(default_factory=dict)
    has_clusters: bool = False
    is_looking: bool = True


class PendingClusters(Generic[T]):
    """The pending Clusters of all sets. T: the type of the outcome for a Cluster that waits."""

    def __init__(self) -> None:
        self._sets: dict[Key, _Set[T]] = {}  # of a set that is not here, all Clusters are pending

    def add(self, resource_set: Key, cluster: Key) -> None:
        """Make one Cluster of a set pending."""
        state = self._sets.get(resource_set)
        if state is not None:
            state.clusters.add(cluster)
            state.waiting.pop(cluster, None)

    def add_all(self, resource_set: Key) -> None:
        """Make all Clusters of a set pending."""
        self._sets.pop(resource_set, None)

    def drop(self, cluster: Key) -> None:
        """Remove a Cluster that is deleted, or that has other labels, from all sets."""
        for state in self._sets.values():
            state.clusters.discard(cluster)
            state.waiting.pop(cluster, None)

    def take(self, resource_set: Key) -> set[Key] | None:
        """Begin a reconcile of a set. Return its pending Clusters, None if all of its Clusters are
        pending.
        """
        state = self._sets.get(resource_set)
        if state is None:
            self._sets[resource_set] = _Set()
            return None
        clusters, state.clusters, state.is_looking = state.clusters, set(), True
        return clusters

    def settle(
        self,
        resource_set: Key,
        *,
        looked_at: bool,
        again: Iterable[Key],
        waiting: Mapping[Key, T],
    ) -> list[T] | None:
        """Record the results of a reconcile. Return the outcomes of all Clusters that wait for an
        event, None if the set selects no Cluster.

        looked_at: whether the reconcile processed any Clusters. again: the Clusters that the next
        reconcile has to process.
        """
        state = self._sets.get(resource_set)
        if state is None:  # all are pending again: the set or a source has changed meanwhile
            return list(waiting.values()) if looked_at else None
        state.is_looking = False
        state.has_clusters |= looked_at
        state.clusters.update(again)
        changed = state.clusters
        state.waiting |= {key: value for key, value in waiting.items() if key not in changed}
        return list(state.waiting.values()) if state.has_clusters else None

    def end(self, resource_set: Key) -> None:
        """End a reconcile of a set. If it was interrupted, all Clusters of the set are pending
        again.
        """
        state = self._sets.get(resource_set)
        if state is not None and state.is_looking:
            del self._sets[resource_set]
