"""A provider that does in workload clusters what a cloud controller manager would, by the SDK."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from kapy._aio.services import run_services
from kapy.apiserver.server import Server
from kapy.client.client import Client
from kapy.client.kubeconfig import Kubeconfig
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.http import ADMIN, Transport
from kapy.kube.names import NODES, SECRETS
from kapy.remote.cluster_cache import ClusterCache
from kapy.sdk import Controller, MachineContext, Provisioned, Waiting, add_infra_machine
from kapy.sdk.controllers import Change
from kapy.sdk.workload_clusters import NotConnected, WorkloadClusters
from kapy.testing.provider_bench import ProviderBench, key, provider_bench
from tests.remote.workload_clusters import secret
from tests.sdk.paper_cloud import MACHINE, PAPER_CLUSTERS, PaperCloud, PaperMachine

MACHINES = PaperMachine.RESOURCE
INFRA = {**MACHINE, "spec": {"sheets": 1}}
TAINT = {"key": "node.cloudprovider.kubernetes.io/uninitialized", "effect": "NoSchedule"}


class Clouds(PaperCloud):
    """Gives Nodes their provider IDs, and takes the taint of cloud providers away."""

    def __init__(self, clusters: WorkloadClusters) -> None:
        super().__init__()
        self.clusters = clusters
        self.controller: Controller | None = None
        self.unconnected = 0

    async def reconcile_normal(
        self, context: MachineContext[PaperMachine]
    ) -> Provisioned | Waiting:
        answer = await super().reconcile_normal(context)
        if isinstance(answer, Provisioned):
            try:
                await self._register(context, answer.provider_id)
            except NotConnected:
                self.unconnected += 1  # `wake` brings the machine back
        return answer

    async def _register(self, context: MachineContext[PaperMachine], provider_id: str) -> None:
        assert self.controller is not None
        name = context.key.name
        nodes = self.clusters.watch(self.controller, context.cluster, NODES, of_node)
        node = nodes.raw(Key("", name))
        if node is not None and "providerID" not in node["spec"]:
            patch = {"spec": {"providerID": provider_id, "taints": None}}
            await self.clusters.client(context.cluster).patch(NODES, Key("", name), patch)


def of_node(cluster: Key, change: Change) -> Iterable[Key]:
    return [Key(cluster.namespace, change.document["metadata"]["name"])]


@dataclass
class Setup:
    bench: ProviderBench
    cloud: Clouds
    nodes: Client

    async def machine(self, name: str) -> None:
        """A machine that is provisioned."""
        await self.bench.machine("blue", name, INFRA, bootstrap_data=b"sheets")
        await self.bench.until(MACHINES, name, lambda document: document["spec"].get("providerID"))

    async def node(self, name: str) -> None:
        """A Node that joined."""
        spec = {"taints": [TAINT]}
        node: Document = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
        await self.nodes.create(NODES, {**node, "spec": spec})

    async def registered(self, name: str) -> Document:
        """The spec of a Node that has its provider ID."""
        async with asyncio.timeout(600):
            while True:
                document = await self.nodes.get(NODES, Key("", name))
                if document["spec"].get("providerID"):
                    return dict(document["spec"])
                await asyncio.sleep(0.1)


@asynccontextmanager
async def playing() -> AsyncIterator[Setup]:
    async with provider_bench([PAPER_CLUSTERS, MACHINES]) as bench:
        workload = Server.open(None, clock=bench.clock)

        def dial(_: Kubeconfig) -> Transport:
            return workload.transport(ADMIN)

        runtime: Runtime = bench.runtime
        clusters = WorkloadClusters(runtime, connections := ClusterCache(runtime, dial=dial))
        cloud = Clouds(clusters)
        cloud.controller = add_infra_machine(
            runtime, PaperMachine, cloud, finalizer="paper.example.dev/check"
        )
        machines = runtime.cache.informer(MACHINES)
        clusters.wake(
            cloud.controller, lambda _: [Key.of(document) for document in machines.list()]
        )
        try:
            async with bench.running(), run_services(connections=connections.run):
                infra = {
                    "apiVersion": PAPER_CLUSTERS.api_version,
                    "kind": PAPER_CLUSTERS.kind,
                    "metadata": {"name": "blue"},
                }
                await bench.cluster("blue", infra, provisioned=True)
                yield Setup(bench, cloud, Client(workload.transport(ADMIN)))
        finally:
            workload.close()


async def test_a_machine_comes_back_when_its_cluster_is_reached_and_when_its_node_joins() -> None:
    async with playing() as setup:
        await setup.machine("m-0")
        assert setup.cloud.unconnected
        await setup.node("m-0")
        looks = setup.cloud.looks["m-0"]
        await asyncio.sleep(60)
        assert setup.cloud.looks["m-0"] == looks  # nobody asks in vain
        await setup.bench.client.create(SECRETS, secret("blue"))
        assert await setup.registered("m-0") == {"providerID": "paper://m-0"}
        await setup.machine("m-1")
        await asyncio.sleep(60)
        await setup.node("m-1")  # its machine is there already: the watch tells
        assert await setup.registered("m-1") == {"providerID": "paper://m-1"}


async def test_a_deleted_kubeconfig_ends_the_connection() -> None:
    async with playing() as setup:
        await setup.bench.client.create(SECRETS, secret("blue"))
        await setup.machine("m-0")
        await setup.node("m-0")
        await setup.registered("m-0")
        before = setup.cloud.unconnected
        await setup.bench.client.delete(SECRETS, key("blue-kubeconfig"))
        await asyncio.sleep(60)
        assert setup.cloud.unconnected > before
