"""One trace per creation of a cluster: its trace ID is the UID of the Cluster.

So every program that works for the cluster knows the ID without propagation. Once a Cluster has
been available, each further reconcile is a trace of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from kapy._aio.tracing import span
from kapy.api.cluster import Cluster
from kapy.engine.cache import Cache, Informer
from kapy.engine.cluster_of import cluster_of
from kapy.engine.controller import Reconcile
from kapy.engine.correlation import Lru
from kapy.engine.result import Result
from kapy.kube import Document, Key


class ClusterTraces:
    """The traces of clusters that are being created."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._done: Lru[bool] = Lru()

    def cluster(self, key: Key) -> Document | None:
        """Return a Cluster from the cache."""
        return self._cache.newest(Cluster.RESOURCE, key)

    def of(self, document: Document | None) -> str:
        """Return the trace ID for work on an object, "" for a trace of its own."""
        if document is None:
            return ""
        cluster = self.cluster(cluster_of(document))
        if cluster is None:
            return ""
        uid = cluster["metadata"]["uid"]
        if self._done.get(uid) or _is_available(cluster):
            self._done.put(uid, value=True)
            return ""
        return _trace(uid)


def _is_available(cluster: Document) -> bool:
    conditions = (cluster.get("status") or {}).get("conditions") or ()
    return any(
        condition["type"] == "Available" and condition["status"] == "True"
        for condition in conditions
    )


def _trace(uid: str) -> str:
    try:
        return UUID(uid).hex
    except ValueError:
        return ""  # Kubernetes API servers never create such a uid


def with_span(
    name: str, reconcile: Reconcile, of: Informer[Any] | None, creations: ClusterTraces
) -> Reconcile:
    """Wrap the reconcile function of a controller in a span. of: its objects; None if its keys are
    those of Clusters.
    """
    document: Callable[[Key], Document | None] = creations.cluster if of is None else of.raw

    async def look(key: Key) -> Result:
        value = {"kapy.controller": name, "kapy.object": str(key)}
        with span(f"reconcile {name}", value, trace=creations.of(document(key))) as around:
            result = await reconcile(key)
            if result.reason:
                around.set_attribute("kapy.waits", result.reason)
            return result

    return look
