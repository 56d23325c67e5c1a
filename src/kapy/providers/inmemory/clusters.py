"""DevCluster with `backend.inMemory`: an address, and a workload cluster behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from kapy.api.dev_cluster import DevCluster
from kapy.api.names import Annotation
from kapy.kube import Document, Key
from kapy.providers.inmemory.backend import is_in_memory
from kapy.providers.inmemory.fleet import InMemoryClusters
from kapy.sdk import (
    Change,
    ClusterContext,
    ClusterProvisioned,
    ControlPlaneLoadBalancer,
    Endpoint,
    InfraClusterProvider,
    Member,
    Released,
    Runtime,
    Waiting,
)

Context = ClusterContext[DevCluster]
BY_ENDPOINT: Final = "inmemory/endpoint"


class DevClusters(InfraClusterProvider[DevCluster], ControlPlaneLoadBalancer[DevCluster]):
    """Clusters of the in-memory backend, and their simulated load balancers. opened: called for
    each cluster that was created here."""

    reports_ready = False  # as upstream's

    def __init__(
        self, runtime: Runtime, in_memory: InMemoryClusters, opened: Callable[[Key], None]
    ) -> None:
        self._in_memory = in_memory
        self._opened = opened
        self._infra = runtime.cache.informer(DevCluster.RESOURCE)
        self._infra.add_index(BY_ENDPOINT, _endpoints)
        self._infra.subscribe(self._forget)

    def serves(self, document: Document) -> bool:
        return is_in_memory(document)

    async def endpoint(self, context: Context) -> Endpoint:
        known = self._in_memory.get(context.cluster)
        endpoint = context.endpoint
        if endpoint is None:
            endpoint = known.endpoint if known else self._free_endpoint(context.cluster)
        workload = self._in_memory.open(context.cluster, context.uid, endpoint)
        if workload is not known:
            self._opened(context.cluster)
        return endpoint

    async def register(self, member: Member) -> None:
        if (workload := self._in_memory.get(member.cluster)) is not None:
            workload.register(member.key.name)

    async def deregister(self, member: Member) -> None:
        if (workload := self._in_memory.get(member.cluster)) is not None:
            workload.deregister(member.key.name)

    async def reconcile_normal(self, context: Context) -> ClusterProvisioned:
        return ClusterProvisioned(
            failure_domains=self._in_memory.failure_domains,
            annotations={Annotation.IN_MEMORY_LISTENER: str(context.cluster)},
        )

    async def reconcile_delete(self, context: Context) -> Released | Waiting:
        self._in_memory.drop(context.cluster)
        return Released()

    def _forget(self, change: Change) -> None:
        """Drop a DevCluster that vanished without its deletion steps: it was moved to another
        management cluster."""
        if change.new is not None:
            return
        metadata = change.document["metadata"]
        listener = (metadata.get("annotations") or {}).get(Annotation.IN_MEMORY_LISTENER, "")
        key = Key(*listener.split("/", 1)) if "/" in listener else Key("", listener)
        found = self._in_memory.get(key)
        if found is not None and found.uid == metadata["uid"]:
            self._in_memory.drop(key)

    def _free_endpoint(self, cluster: Key) -> Endpoint:
        # After a restart, clusters that are stored with their address come one by one.
        return self._in_memory.free_endpoint(
            cluster,
            lambda endpoint: bool(self._infra.indexed(BY_ENDPOINT, _endpoint_text(*endpoint))),
        )


def _endpoints(infra: Document) -> Iterable[str]:
    found = (infra.get("spec") or {}).get("controlPlaneEndpoint") or {}
    return (_endpoint_text(found["host"], found.get("port", 0)),) if found.get("host") else ()


def _endpoint_text(host: str, port: int) -> str:
    return f"{host}:{port}"
