"""Adds the controllers of the in-memory backend and their watches."""

from __future__ import annotations

from collections.abc import Iterable

from kapy.api.dev_cluster import DevCluster
from kapy.api.dev_machine import DevMachine
from kapy.api.dev_machine_pool import DevMachinePool
from kapy.api.names import Finalizer, Label
from kapy.kube import Key
from kapy.kube.names import SECRETS
from kapy.providers.inmemory.clusters import DevClusters
from kapy.providers.inmemory.fleet import InMemoryClusters
from kapy.providers.inmemory.machines import DevMachines
from kapy.providers.inmemory.pools import DevMachinePools, PoolTokens
from kapy.remote.secrets import CLUSTER_CA, secret_name
from kapy.sdk import (
    DONE,
    Controller,
    PoolMachines,
    Result,
    Runtime,
    add_infra_cluster,
    add_infra_machine,
    add_infra_machine_pool,
)
from kapy.sdk.controllers import BY_CLUSTER, Change

CONCURRENCY = 10


def add_to(
    runtime: Runtime, in_memory: InMemoryClusters, *, concurrency: int = CONCURRENCY
) -> list[Controller]:
    """Serve DevClusters, DevMachines and (with MachinePools) DevMachinePools in this program."""
    machines = runtime.cache.informer(DevMachine.RESOURCE)
    secrets = runtime.cache.informer(SECRETS, labels=Label.CLUSTER_NAME)

    def machines_of(cluster: Key) -> Iterable[Key]:
        return machines.keys_by_index(BY_CLUSTER, str(cluster))

    def opened(cluster: Key) -> None:
        for key in machines_of(cluster):
            machine_controller.enqueue(key)
        if pools is not None:
            tokens.restore(cluster)
            for key in pool_objects.keys_by_index(BY_CLUSTER, str(cluster)):
                pools.enqueue(key)

    clusters = DevClusters(runtime, in_memory, opened)
    machine_controller = add_infra_machine(
        runtime,
        DevMachine,
        DevMachines(runtime, in_memory),
        finalizer=Finalizer.DEV_MACHINE,
        concurrency=concurrency,
        load_balancer=clusters,
    )

    def of_authority(change: Change) -> Iterable[Key]:
        """The machines that wait for their cluster's CA."""
        if change.old is not None:
            return ()
        metadata = change.document["metadata"]
        cluster = (metadata.get("labels") or {}).get(Label.CLUSTER_NAME, "")
        if metadata["name"] != secret_name(cluster, CLUSTER_CA):
            return ()
        return machines_of(Key(metadata["namespace"], cluster))

    machine_controller.watch(secrets, of_authority)
    cluster_controller = add_infra_cluster(
        runtime,
        DevCluster,
        clusters,
        finalizer=Finalizer.DEV_CLUSTER,
        concurrency=concurrency,
        load_balancer=clusters,
    )
    _follow_addresses(in_memory, clusters, cluster_controller)
    runtime.packing.append(in_memory.pack_idle)
    controllers = [cluster_controller, machine_controller, _housekeeper(runtime, in_memory)]
    pools = None
    if runtime.options.gates.machine_pool:
        pools = _pools(runtime, in_memory, concurrency)
        tokens = PoolTokens(runtime, in_memory, secrets)
        pool_objects = runtime.cache.informer(DevMachinePool.RESOURCE)
        controllers.append(pools)
    return controllers


def _follow_addresses(
    in_memory: InMemoryClusters, clusters: DevClusters, controller: Controller
) -> None:
    def enqueue(cluster: Key) -> None:
        for key in clusters.at_address_of(cluster):
            controller.enqueue(key)

    in_memory.subscribe_address(enqueue)


def _pools(runtime: Runtime, in_memory: InMemoryClusters, concurrency: int) -> Controller:
    machines = PoolMachines(runtime, DevMachine.RESOURCE, DevMachinePool.RESOURCE)
    controller = add_infra_machine_pool(
        runtime,
        DevMachinePool,
        DevMachinePools(runtime, in_memory, machines),
        finalizer=Finalizer.DEV_MACHINE_POOL,
        concurrency=concurrency,
    )
    machines.wake(controller)
    return controller


def _housekeeper(runtime: Runtime, in_memory: InMemoryClusters) -> Controller:
    async def tidy(cluster: Key) -> Result:
        workload = in_memory.get(cluster)
        if workload is not None:
            await workload.housekeeping.tidy()
        return DONE

    controller = Controller("inmemory-housekeeping", tidy, concurrency=1)
    in_memory.subscribe_untidy(controller.enqueue)
    return runtime.add(controller)
