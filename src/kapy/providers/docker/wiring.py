"""Adds the controllers of the docker backend and their watches, of objects and of containers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from kapy._aio.services import Service
from kapy.api.cluster import Cluster
from kapy.api.dev_cluster import DevCluster
from kapy.api.dev_machine import DevMachine, DevMachineTemplate
from kapy.api.dev_machine_pool import DevMachinePool
from kapy.api.docker_cluster import DockerCluster
from kapy.api.docker_machine import DockerMachine, DockerMachineTemplate
from kapy.api.docker_machine_pool import DockerMachinePool
from kapy.api.names import Finalizer
from kapy.containers import Container
from kapy.kube import Key
from kapy.kube.names import CONFIG_MAPS
from kapy.providers.docker.backend import is_docker, is_docker_template
from kapy.providers.docker.clusters import ContainerClusters
from kapy.providers.docker.containers import CLUSTER_LABEL, LOAD_BALANCER, ROLE_LABEL, provider_id
from kapy.providers.docker.host import Host
from kapy.providers.docker.load_balancers import LoadBalancers
from kapy.providers.docker.machines import ContainerMachines
from kapy.providers.docker.nodes import node_patches
from kapy.providers.docker.pools import ContainerMachinePools
from kapy.providers.docker.tasks import Tasks
from kapy.sdk import (
    Controller,
    PoolMachines,
    Runtime,
    add_infra_cluster,
    add_infra_machine,
    add_infra_machine_pool,
)
from kapy.sdk.controllers import BY_CLUSTER, Change
from kapy.sdk.template_capacity import add_template_capacity
from kapy.sdk.workload_clusters import WorkloadClusters

CONCURRENCY = 10
_KINDS: Final = (
    (DevCluster, DevMachine, DevMachinePool, "dev.cluster.x-k8s.io/machine-pool"),
    (DockerCluster, DockerMachine, DockerMachinePool, "docker.cluster.x-k8s.io/machine-pool"),
)
_TEMPLATES: Final = (DevMachineTemplate, DockerMachineTemplate)


def add_to(
    runtime: Runtime,
    workload: WorkloadClusters,
    host: Host,
    *,
    concurrency: int = CONCURRENCY,
) -> Mapping[str, Service]:
    """Add the controllers of machines and clusters of containers; return the services to run beside
    them, by name."""
    tasks = Tasks()
    clusters = ContainerClusters(LoadBalancers(runtime, host, tasks, workload.trigger_probe))
    controllers: dict[str, Controller] = {}
    for cluster, machine, pool, label in _KINDS:
        controllers[cluster.RESOURCE.kind] = add_infra_cluster(
            runtime,
            cluster,
            clusters,
            finalizer=Finalizer.DEV_CLUSTER,
            concurrency=concurrency,
            load_balancer=clusters,
        )
        machines = ContainerMachines(runtime, host, tasks, workload, label)
        controllers[machine.RESOURCE.kind] = add_infra_machine(
            runtime,
            machine,
            machines,
            finalizer=Finalizer.DEV_MACHINE,
            concurrency=concurrency,
            load_balancer=clusters,
        )
        _watch_nodes(runtime, machines, machine, controllers[machine.RESOURCE.kind], workload)
        if runtime.options.gates.machine_pool:
            _add_pools(runtime, host, (machine, pool, label), concurrency)
    for template in _TEMPLATES:
        add_template_capacity(runtime, template.RESOURCE, host.capacity, serves=is_docker_template)
    tasks.wake = lambda kind, key: controllers[kind].enqueue(key)
    runtime.declare_write(CONFIG_MAPS, "get")

    async def run() -> None:
        try:
            await tasks.run()
        finally:
            await host.close()

    wake = _ContainerEvents(runtime, controllers)
    return {"machine tasks": run, "container events": lambda: host.follow(wake)}


def _watch_nodes(
    runtime: Runtime,
    machines: ContainerMachines,
    kind: type[Any],
    controller: Controller,
    workload: WorkloadClusters,
) -> None:
    """Wake machines by the connection to their cluster, and by their Nodes."""
    informer = runtime.cache.informer(kind.RESOURCE)

    def of_cluster(cluster: Key) -> Iterable[Key]:
        results = informer.list_by_index(BY_CLUSTER, str(cluster))
        return [Key.of(item) for item in results if machines.serves(item)]

    def of_node(cluster: Key, change: Change) -> Iterable[Key]:
        """Return the keys of the machine of a Node that still needs a change."""
        if change.new is None or node_patches(change.new, "", ()) == (None, None):
            return
        name = change.document["metadata"]["name"]
        for item in informer.list_by_index(BY_CLUSTER, str(cluster)):
            provider_id = (item.get("spec") or {}).get("providerID", "")
            if provider_id.rpartition("/")[2] == name:
                yield Key.of(item)

    machines.controller, machines.of_node = controller, of_node
    workload.wake(controller, of_cluster)


def _add_pools(
    runtime: Runtime, host: Host, kinds: tuple[type[Any], type[Any], str], concurrency: int
) -> None:
    machine, pool, label = kinds
    machines = PoolMachines(runtime, machine.RESOURCE, pool.RESOURCE)
    controller = add_infra_machine_pool(
        runtime,
        pool,
        ContainerMachinePools(host, machines, machine, label),
        finalizer=Finalizer.DEV_MACHINE_POOL,
        concurrency=concurrency,
    )
    machines.wake(controller)


class _ContainerEvents:
    """Enqueues infrastructure objects: that of a cluster when its load balancer starts or ends, and
    that of a machine when its container starts or ends. controllers: the controllers by the kind
    that they reconcile.
    """

    def __init__(self, runtime: Runtime, controllers: Mapping[str, Controller]) -> None:
        self._controllers = controllers
        self._clusters = runtime.cache.informer(Cluster)
        self._infra = {
            kind.RESOURCE.kind: runtime.cache.informer(kind.RESOURCE)
            for kind in (DevCluster, DockerCluster)
        }
        self._machines = {
            kind.RESOURCE.kind: runtime.cache.informer(kind.RESOURCE)
            for kind in (DevMachine, DockerMachine)
        }

    def __call__(self, container: Container | None) -> None:
        """Enqueue the objects of a container. container: None if events were lost."""
        if container is None or container.labels.get(ROLE_LABEL) == LOAD_BALANCER:
            self._wake_clusters(container)
        if container is None or container.labels.get(ROLE_LABEL) != LOAD_BALANCER:
            self._wake_machines(container)

    def _wake_clusters(self, container: Container | None) -> None:
        name = None if container is None else container.labels.get(CLUSTER_LABEL)
        for cluster in self._clusters.list():
            reference = cluster.spec.infrastructure_ref
            if reference is None or name not in (None, cluster.metadata.name):
                continue
            if (infra := self._infra.get(reference.kind)) is None:
                continue
            key = Key(cluster.metadata.namespace, reference.name)
            document = infra.raw(key)
            if document is not None and is_docker(document):
                self._controllers[reference.kind].enqueue(key)

    def _wake_machines(self, container: Container | None) -> None:
        wanted = None if container is None else provider_id(container.name)
        for kind, informer in self._machines.items():
            for document in informer.list():
                spec = document.get("spec") or {}
                if is_docker(document) and wanted in (None, spec.get("providerID")):
                    self._controllers[kind].enqueue(Key.of(document))
