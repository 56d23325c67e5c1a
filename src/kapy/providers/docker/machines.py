"""Machines that are containers: DevMachines with `backend.docker`, and DockerMachines.

The order of steps is upstream's: container, systemd in it, images in it; then the machine is
provisioned (and its API server joins the load balancer); then boot data runs; then its Node gets a
provider ID. Each long step is a task, and conditions report its progress.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import Any, Final

from kapy.api.cluster import Cluster
from kapy.api.condition import Condition, V1Beta1Condition
from kapy.api.names import Annotation, ConditionType, Label, Reason
from kapy.containers import Container
from kapy.kube import Document, Key
from kapy.kube.errors import ApiError, KapyError
from kapy.kube.names import NODES
from kapy.providers.docker import machine_conditions as told
from kapy.providers.docker.backend import (
    FAILURE_DOMAIN,
    Machine,
    is_docker,
    machine_spec,
    pool_name,
)
from kapy.providers.docker.containers import (
    CONTROL_PLANE,
    FAILURE_DOMAIN_LABEL,
    WORKER,
    BelongsToAnother,
    Wanted,
    machine_container,
    provider_id,
)
from kapy.providers.docker.host import Host
from kapy.providers.docker.ip_family import cluster_subnets, ip_family
from kapy.providers.docker.machine_boot import BOOTSTRAP, MachineBoot, owner_of
from kapy.providers.docker.node_container import (
    preload_operations,
    systemd_operations,
)
from kapy.providers.docker.node_images import NodeImage, node_image
from kapy.providers.docker.nodes import node_patches
from kapy.providers.docker.tasks import Operation, Task, Tasks
from kapy.sdk import (
    Address,
    Controller,
    InfraMachineProvider,
    MachineContext,
    NotYet,
    Provisioned,
    Released,
    Runtime,
    Waiting,
    conditions,
)
from kapy.sdk.controllers import Change
from kapy.sdk.workload_clusters import NotConnected, WorkloadClusters

SOON: Final = timedelta(milliseconds=1)
RETRY: Final = timedelta(seconds=10)
CGROUPS_RETRY: Final = timedelta(seconds=5)
PULL_TIMEOUT: Final = 1800.0
_WAITING: Final = (Reason.NOT_READY, Reason.WAITING_FOR_BOOTSTRAP_DATA)
CGROUPS_TIMEOUT: Final = 30.0
IMAGES_TIMEOUT: Final = 300.0

Order = MachineContext[Any]


def _nobody(_: Key, __: Change) -> Iterable[Key]:
    return ()


class ContainerMachines(InfraMachineProvider[Any]):
    """Machines of the docker backend, of either kind. pool_label: names the pool of a machine on
    its container.

    Boot data may be missing: a machine that is adopted has run it before.
    """

    needs_bootstrap_data = False

    def __init__(
        self,
        runtime: Runtime,
        host: Host,
        tasks: Tasks,
        workload: WorkloadClusters,
        pool_label: str,
    ) -> None:
        self._host = host
        self._tasks = tasks
        self._workload = workload
        self._clusters = runtime.cache.informer(Cluster)
        self._pool_label = pool_label
        self._boot = MachineBoot(runtime, host, tasks, workload)
        self.controller: Controller | None = None
        self.of_node: Callable[[Key, Change], Iterable[Key]] = _nobody

    def serves(self, document: Document) -> bool:
        return is_docker(document)

    def before_start(self, context: Order, reason: str) -> Sequence[Condition]:
        del context
        return told.complete(told.container_missing(reason))

    def for_v1beta1(self, reported: Sequence[Condition]) -> Sequence[V1Beta1Condition]:
        return told.for_v1beta1(reported)

    async def reconcile_normal(self, context: Order) -> Provisioned | Waiting:
        name = container_name(context)
        try:
            container = await self._host.found(name, context.cluster)
            if context.object.spec.provider_id:
                return await self._provision(context, name, container)
            return await self._start(context, name, container)
        except KapyError as error:
            if context.object.spec.provider_id or isinstance(error, (ApiError, NotYet)):
                raise  # the state of an existing container is unknown
            missing = told.container_missing(Reason.NOT_PROVISIONED, str(error))
            return Waiting(
                message=str(error), requeue_after=RETRY, conditions=told.complete(missing)
            )

    async def reconcile_delete(self, context: Order) -> Released | Waiting:
        self._tasks.cancel(context.uid)
        name = container_name(context)
        try:
            if await self._host.found(name, context.cluster) is not None:
                await self._host.engine.remove(name)
            await self._host.tidy_network()  # a Cluster that is not in containers keeps none
        except BelongsToAnother:
            pass  # this machine never had a container
        return Released()

    # Until it is provisioned

    async def _start(
        self, context: Order, name: str, container: Container | None
    ) -> Provisioned | Waiting:
        if container is None or not container.is_running:
            image = node_image(context.version, machine_spec(context.object).custom_image)
            if (waiting := await self._pull(context, image)) is not None:
                return waiting
            if container is not None:  # it was never started or has ended: start again, as upstream
                await self._host.engine.remove(name)
            container = await self._host.make(self._wanted_container(context, name, image))
        results = [told.CONTAINER_PROVISIONED]
        for step in (self._cgroups, self._images):
            condition, retry = step(context, name)
            results.append(condition)
            if condition.status != conditions.TRUE:
                return Waiting(
                    message=condition.message,
                    requeue_after=retry,
                    conditions=told.complete(*results, *_waits(condition)),
                )
        return self._answer(context, name, container, results)

    async def _pull(self, context: Order, image: NodeImage) -> Waiting | None:
        """None when the engine has the image."""
        task = self._tasks.get(context.uid, "image")
        if task is None:
            if await self._host.engine.has_image(image.name):
                return None

            async def pull(running: Task) -> None:
                await self._host.engine.pull(image.name, running.tell)

            operation = Operation(f"pulling image {image.name}", pull)
            task = self._tasks.start(owner_of(context), "image", [operation], PULL_TIMEOUT)
        if task.is_running:
            missing = told.container_missing(Reason.NOT_PROVISIONED, task.description)
            return Waiting(
                message=task.description, requeue_after=None, conditions=told.complete(missing)
            )
        self._tasks.forget(context.uid, "image")
        if task.error is not None:
            raise task.error
        return None

    def _wanted_container(self, context: Order, name: str, image: NodeImage) -> Wanted:
        cluster = self._clusters.get(context.cluster)
        metadata = context.object.metadata
        domain = context.failure_domain or metadata.annotations.get(FAILURE_DOMAIN, "")
        labels = {FAILURE_DOMAIN_LABEL: domain} if domain else {}
        if Label.POOL_NAME in metadata.labels:
            labels[self._pool_label] = pool_name(context.object)
        return Wanted(
            name=name,
            cluster=context.cluster,
            role=CONTROL_PLANE if context.control_plane else WORKER,
            image=image.name,
            ip_family="IPv4" if cluster is None else ip_family(cluster),
            private_cgroups=image.has_private_cgroups,
            labels=labels,
            mounts=machine_spec(context.object).extra_mounts,
            cluster_subnets=() if cluster is None else cluster_subnets(cluster),
        )

    def _cgroups(self, context: Order, name: str) -> tuple[Condition, timedelta | None]:
        if _is_true(context, ConditionType.CGROUPS_READY):
            return told.CGROUPS_READY, None
        operations = systemd_operations(self._host.engine, name)
        task = self._tasks.ensure(owner_of(context), "cgroups", operations, CGROUPS_TIMEOUT)
        return self._progress(context, "cgroups", task, told.CGROUPS_READY, told.cgroups_not_ready)

    def _images(self, context: Order, name: str) -> tuple[Condition, timedelta | None]:
        images = machine_spec(context.object).pre_load_images
        if not images or _is_true(context, ConditionType.PRELOADED_IMAGES_READY):
            return told.IMAGES_READY, None
        operations = preload_operations(self._host.engine, name, images)
        task = self._tasks.ensure(owner_of(context), "images", operations, IMAGES_TIMEOUT)
        return self._progress(context, "images", task, told.IMAGES_READY, told.images_not_ready)

    def _progress(
        self,
        context: Order,
        name: str,
        task: Task,
        done: Condition,
        undone: Callable[[str], Condition],
    ) -> tuple[Condition, timedelta | None]:
        """Return the state of a task, which is retried when it fails."""
        if task.is_running:
            return undone(str(task)), None
        if task.error is None:
            return done, None
        self._tasks.forget(context.uid, name)
        return undone(str(task)), CGROUPS_RETRY

    # Afterwards

    async def _provision(
        self, context: Order, name: str, container: Container | None
    ) -> Provisioned:
        booted = context.last_conditions.get(ConditionType.BOOTSTRAP_COMPLETED)
        if container is None or not container.is_running:
            message = f"Container {name} is not running anymore"
            missing = told.container_missing(Reason.NOT_PROVISIONED, message)
            results = [told.CGROUPS_READY, missing, told.IMAGES_READY]
            return self._answer(context, name, None, [*results, *([booted] if booted else [])])
        results = [told.CGROUPS_READY, told.CONTAINER_PROVISIONED, told.IMAGES_READY]
        if booted is None or not _is_final(booted):
            booted = await self._boot.condition(context, name)
        await self._register_node(context, name, container)
        return self._answer(context, name, container, [*results, booted])

    async def _register_node(self, context: Order, name: str, container: Container) -> None:
        """Give the Node what a cloud controller manager would; wait for it by a watch."""
        cluster = self._clusters.get(context.cluster)
        if cluster is None or self.controller is None:
            return
        if cluster.spec.control_plane_ref is not None and not conditions.is_true(
            cluster.status.conditions, ConditionType.CONTROL_PLANE_INITIALIZED
        ):
            return  # a change of the Cluster enqueues the machine
        try:
            nodes = self._workload.watch(self.controller, context.cluster, NODES, self.of_node)
            client = self._workload.client(context.cluster)
        except NotConnected:
            return  # the connection enqueues the machine
        node = nodes.raw(Key("", name))
        if node is None:
            return
        addresses = self._addresses(context, name, container)
        main, status = node_patches(node, provider_id(name), addresses)
        if status is not None:  # the taint last: it marks this step as unfinished
            await client.patch(NODES, Key("", name), status, subresource="status")
            if main is not None:
                main["metadata"].pop("resourceVersion", None)
        if main is not None:
            await client.patch(NODES, Key("", name), main)

    # Answers

    def _answer(
        self, context: Order, name: str, container: Container | None, results: Sequence[Condition]
    ) -> Provisioned:
        weight = "0" if context.machine is not None and context.machine.deleting else "100"
        status = context.object.status
        addresses: Sequence[Address]
        if container is None:
            addresses = [Address(address.type, address.address) for address in status.addresses]
        else:
            addresses = self._addresses(context, name, container)
        return Provisioned(
            provider_id=context.object.spec.provider_id or provider_id(name),
            addresses=addresses,
            failure_domain=context.failure_domain or status.failure_domain,
            annotations={Annotation.LOAD_BALANCER_WEIGHT: weight} if context.control_plane else {},
            conditions=told.complete(*results),
            requeue_after=self._next_look(context, results),
            requeue_reason="boot data runs once the machine is provisioned",
        )

    def _next_look(self, context: Order, results: Sequence[Condition]) -> timedelta | None:
        """Return the delay until the next attempt to run boot data: a short one before the machine
        is provisioned, a longer one if the engine did not answer or there is no data."""
        if not context.object.spec.provider_id:
            return SOON
        booted = next(
            (
                condition
                for condition in results
                if condition.type == ConditionType.BOOTSTRAP_COMPLETED
            ),
            None,
        )
        waits = booted is not None and booted.reason in _WAITING
        return RETRY if waits and self._tasks.get(context.uid, BOOTSTRAP) is None else None

    def _addresses(self, context: Order, name: str, container: Container) -> Sequence[Address]:
        cluster = self._clusters.get(context.cluster)
        family = "IPv4" if cluster is None else ip_family(cluster)
        ipv4, ipv6 = container.address()
        chosen = {"IPv4": (ipv4,), "IPv6": (ipv6,), "DualStack": (ipv4, ipv6)}[family]
        result = [Address("Hostname", name)]
        for item in filter(None, chosen):
            result += [Address("InternalIP", item), Address("ExternalIP", item)]
        return result


def container_name(context: Order) -> str:
    """Return the name of a machine's container: of its Machine, or of its object in a pool."""
    machine: Machine = context.object
    if machine.spec.provider_id:
        return machine.spec.provider_id.rpartition("/")[2]
    if context.machine is None or Label.POOL_NAME in machine.metadata.labels:
        return machine_container(context.cluster.name, machine.metadata.name)
    return machine_container(context.cluster.name, context.machine.metadata.name)


def _is_true(context: Order, type_: str) -> bool:
    reported = context.last_conditions.get(type_)
    return reported is not None and reported.status == conditions.TRUE


def _is_final(booted: Condition) -> bool:
    return booted.status == conditions.TRUE or booted.reason == Reason.FAILED


def _waits(condition: Condition) -> Iterable[Condition]:
    """Yield the conditions of the steps after an unfinished one, which wait for it."""
    if condition.type == ConditionType.CGROUPS_READY:
        yield told.images_not_ready("", Reason.WAITING_FOR_CGROUPS)
        yield told.not_bootstrapped(Reason.WAITING_FOR_CGROUPS)
    else:
        yield told.not_bootstrapped(Reason.WAITING_FOR_PRELOADED_IMAGES)
