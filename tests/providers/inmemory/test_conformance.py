"""DevCluster and DevMachine keep their contracts."""

from __future__ import annotations

from kapy.api.dev_cluster import DevCluster
from kapy.api.dev_machine import DevMachine
from kapy.api.names import Label
from kapy.kube import Key
from kapy.kube.names import SECRETS
from kapy.providers.inmemory import InMemory
from kapy.providers.inmemory.clusters import DevClusters
from kapy.providers.inmemory.machines import DevMachines
from kapy.sdk import Endpoint, Runtime
from kapy.testing.conformance.behaviour import CLUSTER, check_infra_cluster, check_infra_machine
from kapy.testing.provider_bench import key
from tests.providers.inmemory.plane import UPSTREAM, dev_cluster, dev_machine


async def test_dev_clusters_conform() -> None:
    def make(runtime: Runtime) -> DevClusters:
        opened: list[Key] = []
        return DevClusters(runtime, InMemory(clock=runtime.clock), opened.append)

    await check_infra_cluster(DevCluster, dev_cluster("example"), make)


async def test_dev_machines_conform() -> None:
    def make(runtime: Runtime) -> DevMachines:
        in_memory = InMemory(clock=runtime.clock)
        in_memory.open(key(CLUSTER), "uid", Endpoint("127.1.1.1", 20000))
        secrets = runtime.cache.informer(SECRETS, labels=Label.CLUSTER_NAME)
        return DevMachines(runtime, in_memory, secrets)

    await check_infra_machine(DevMachine, dev_machine(UPSTREAM), make)
