"""One trace per creation of a cluster: its id is that of the Cluster.

So every program knows it that works for the cluster, and nothing has to be handed on. Once a
Cluster has been available, what is done for it is a trace of its own each time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from kapy._aio.tracing import span
from kapy.api.cluster import Cluster
from kapy.engine.belonging import cluster_of
from kapy.engine.cache import Cache, Informer
from kapy.engine.controller import Reconcile
from kapy.engine.correlation import Lru
from kapy.engine.result import Result
from kapy.kube import Document, Key


class Creations:
    """The traces of clusters that are being made."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._done: Lru[bool] = Lru()

    def cluster(self, key: Key) -> Document | None:
        """A Cluster, as it is known here."""
        return self._cache.newest(Cluster.RESOURCE, key)

    def of(self, document: Document | None) -> str:
        """The trace that work on an object belongs to, "" for one of its own."""
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
    return any(one["type"] == "Available" and one["status"] == "True" for one in conditions)


def _trace(uid: str) -> str:
    try:
        return UUID(uid).hex
    except ValueError:
        return ""  # no server of Kubernetes has such


def told(
    name: str, reconcile: Reconcile, of: Informer[Any] | None, creations: Creations
) -> Reconcile:
    """The reconcile of a controller, with a span of each. of: its objects; None where its keys are
    those of Clusters, or of nothing that there is."""
    document: Callable[[Key], Document | None] = creations.cluster if of is None else of.raw

    async def look(key: Key) -> Result:
        said = {"kapy.controller": name, "kapy.object": str(key)}
        with span(f"reconcile {name}", said, trace=creations.of(document(key))) as around:
            result = await reconcile(key)
            if result.because:
                around.set_attribute("kapy.waits", result.because)
            return result

    return look
