"""Access to workload clusters, for providers that read or write objects there, such as Nodes.

    clusters = WorkloadClusters(runtime)
    controller = add_infra_machine(runtime, PaperMachine, PaperCloud(clusters), …)
    clusters.wake(controller, machines_of)

    try:
        nodes = clusters.watch(controller, context.cluster, NODES, keys_of)  # in `reconcile_normal`
        await clusters.client(context.cluster).patch(NODES, key, patch)
    except NotConnected:
        …                                                 # `wake` enqueues once there is one

There is one connection per cluster. It is made with the Secret `<cluster>-kubeconfig` and kept as
long as the Secret exists. `add_to` of a Provider returns `{"workload clusters": clusters.run}`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from kapy.client.client import Client
from kapy.client.kubeconfig import Kubeconfig
from kapy.engine.cache import Change, Informer
from kapy.engine.controller import Controller
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.http import Transport
from kapy.kube.names import Resource
from kapy.kube.renamed import RenamedMember, renamed_arguments
from kapy.remote.cluster_cache import ClusterCache
from kapy.remote.cluster_cache import NotConnected as NotConnected

__all__ = ["NotConnected", "WorkloadClusters"]


class WorkloadClusters:
    """Clients and watches of workload clusters.

    cluster_cache: the program's existing one; then `run` must not be called.
    """

    poke = RenamedMember("trigger_probe")

    @renamed_arguments(connections="cluster_cache")
    def __init__(self, runtime: Runtime, cluster_cache: ClusterCache | None = None) -> None:
        self._connections = cluster_cache or ClusterCache(runtime, dial=_dial)

    def client(self, cluster: Key) -> Client:
        """Return a client of the cluster. Raises NotConnected."""
        try:
            return self._connections.client(cluster)
        except NotConnected:
            # Its connection may be in another process; this provider works for all clusters.
            self._connections.connect_foreign(cluster)
            raise

    def watch(
        self,
        controller: Controller,
        cluster: Key,
        resource: Resource,
        keys: Callable[[Key, Change], Iterable[Key]],
    ) -> Informer[Document]:
        """Return an informer of a kind, whose changes enqueue `keys(cluster, change)`.

        Call it in every reconcile that reads the kind: a lost connection ends the watch. Raises
        NotConnected while there is no connection, or its first list has not arrived.
        """
        self.client(cluster)
        return self._connections.watch(controller, cluster, resource, keys)

    def wake(self, controller: Controller, keys: Callable[[Key], Iterable[Key]]) -> None:
        """Enqueue `keys(cluster)` whenever a connection is established or lost."""

        def changed(cluster: Key) -> None:
            for key in keys(cluster):
                controller.enqueue(key)

        self._connections.subscribe(changed)

    def trigger_probe(self, cluster: Key) -> None:
        """Try to connect now: the provider knows that the cluster's API server has come up."""
        self._connections.trigger_probe(cluster)

    async def run(self) -> None:
        """Maintain the connections until cancelled."""
        await self._connections.run()


MAX_RESPONSE: Final = 64 << 20
"""Bytes of an answer of a workload cluster, which may be anybody's."""


def _dial(kubeconfig: Kubeconfig) -> Transport:
    from kapy.client.https import ApiTransport  # imports aiohttp: half of a small provider's start

    return ApiTransport(kubeconfig, max_bytes=MAX_RESPONSE)
