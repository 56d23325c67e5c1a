"""The watches of claims: their pool, their Cluster, and released addresses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kapy.api.cluster import Cluster
from kapy.api.ip_address import IPAddress, IPAddressClaim
from kapy.api.names import Annotation, Label
from kapy.engine.cache import Change
from kapy.engine.controller import Controller
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.names import Resource

BY_POOL: Final = "sdk/claims-of-pool"
BY_CLUSTER: Final = "sdk/claims-of-cluster"


class ClaimWatches:
    """Maps relevant changes to the claims of one kind of pools."""

    def __init__(self, runtime: Runtime, pools: Resource) -> None:
        self._pool = pools
        self._claims = runtime.cache.informer(IPAddressClaim.RESOURCE)
        self._addresses = runtime.cache.informer(IPAddress.RESOURCE)
        self._pools = runtime.cache.informer(pools)
        self._clusters = runtime.cache.informer(Cluster.RESOURCE)

    def attach(self, controller: Controller) -> None:
        """Add the watches to a controller."""
        self._claims.add_index(BY_POOL, self._pool_of)
        self._claims.add_index(BY_CLUSTER, _cluster_of)
        controller.watch(self._claims, self.of_claim)
        controller.watch(self._addresses, self.of_address)
        controller.watch(self._pools, self.of_pool)
        controller.watch(self._clusters, self.of_cluster)

    def of_claim(self, change: Change) -> Iterable[Key]:
        """Map a claim of these pools to its key."""
        return (Key.of(change.document),) if self._is_ours(change.document) else ()

    def of_address(self, change: Change) -> Iterable[Key]:
        """Map an address to its claim, and a deleted address to all claims that wait for one."""
        if not self._is_ours(change.document):
            return
        spec = change.document["spec"]
        yield Key(change.document["metadata"]["namespace"], spec["claimRef"]["name"])
        if change.new is None:
            yield from self._waiting(self._pool_spelling(change.document))

    def of_pool(self, change: Change) -> Iterable[Key]:
        """Map a pool to the claims that wait for an address of it."""
        key = Key.of(change.document)
        return self._waiting(str(key))

    def of_cluster(self, change: Change) -> Iterable[Key]:
        """Map a Cluster to its claims if it was created, deleted, paused or resumed."""
        if (
            change.old is not None
            and change.new is not None
            and _is_paused(change.old) == _is_paused(change.new)
        ):
            return ()
        key = Key.of(change.document)
        return list(self._claims.keys_by_index(BY_CLUSTER, str(key)))

    def _waiting(self, pool: str) -> list[Key]:
        results = self._claims.list_by_index(BY_POOL, pool)
        return [
            Key.of(item) for item in results if not (item.get("status") or {}).get("addressRef")
        ]

    def _is_ours(self, document: Document) -> bool:
        reference = (document.get("spec") or {}).get("poolRef") or {}
        named = reference.get("apiGroup"), reference.get("kind")
        return named == (self._pool.group, self._pool.kind)

    def _pool_of(self, claim: Document) -> Iterable[str]:
        return (self._pool_spelling(claim),) if self._is_ours(claim) else ()

    def _pool_spelling(self, document: Document) -> str:
        namespace = document["metadata"]["namespace"] if self._pool.namespaced else ""
        return str(Key(namespace, document["spec"]["poolRef"]["name"]))


def _cluster_of(claim: Document) -> Iterable[str]:
    metadata, labels = claim["metadata"], claim["metadata"].get("labels") or {}
    name = (claim.get("spec") or {}).get("clusterName") or labels.get(Label.CLUSTER_NAME)
    return (str(Key(metadata["namespace"], name)),) if name else ()


def _is_paused(cluster: Document) -> bool:
    annotations = cluster["metadata"].get("annotations") or {}
    return bool((cluster.get("spec") or {}).get("paused")) or Annotation.PAUSED in annotations
