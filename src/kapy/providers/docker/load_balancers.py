"""The load balancers of clusters: one haproxy container each.

The configuration follows from the containers of the control plane and their Machines. Each change
writes it whole, and writing it twice is harmless. haproxy takes a new configuration without closing
connections.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping
from typing import Any, Final
from weakref import WeakValueDictionary

from kapy.api.cluster import Cluster
from kapy.api.dev_cluster import DevCluster
from kapy.api.docker_cluster import DockerCluster
from kapy.api.machine import Machine
from kapy.api.names import Label
from kapy.containers import Container, File
from kapy.kube import Key
from kapy.kube.errors import KapyError, NotFound
from kapy.kube.names import CONFIG_MAPS
from kapy.providers.docker import backend
from kapy.providers.docker.containers import (
    API_SERVER_PORT,
    CONTROL_PLANE,
    LOAD_BALANCER,
    NAMESPACE_LABEL,
    BelongsToAnother,
    Wanted,
    load_balancer_container,
    machine_container,
)
from kapy.providers.docker.host import Host
from kapy.providers.docker.ip_family import IPFamily, ip_family
from kapy.providers.docker.load_balancer_config import (
    FULL_WEIGHT,
    PATH,
    Backend,
    Balancing,
    config_text,
    image_of,
)
from kapy.providers.docker.tasks import Operation, Task, Tasks
from kapy.sdk import ClusterContext, Endpoint, Runtime, Waiting
from kapy.sdk.load_balancer import ControlPlaneLoadBalancer, Member

PULL_TIMEOUT: Final = 1800.0
TEMPLATE_KEY: Final = "value"
BY_CLUSTER: Final = "docker/cluster"


class NoTemplate(KapyError):
    """The ConfigMap that a load balancer's template should be in is not usable."""


class LoadBalancers(ControlPlaneLoadBalancer[Any]):
    """Creates, configures and removes load balancers. way_found: called with a Cluster when its
    load balancer becomes reachable at another address."""

    def __init__(
        self, runtime: Runtime, host: Host, tasks: Tasks, way_found: Callable[[Key], None]
    ) -> None:
        self._way_found = way_found
        self._client = runtime.client
        self._host = host
        self._tasks = tasks
        self._clusters = runtime.cache.informer(Cluster)
        self._machines = runtime.cache.informer(Machine)
        self._infra = {
            kind.RESOURCE.kind: runtime.cache.informer(kind) for kind in (DevCluster, DockerCluster)
        }
        self._locks: WeakValueDictionary[Key, asyncio.Lock] = WeakValueDictionary()
        self._written: dict[str, bytes] = {}

    async def endpoint(self, context: ClusterContext[Any]) -> Endpoint | Waiting:
        """Ensure a running load balancer; return its endpoint. Raises EngineError and others."""
        name = load_balancer_container(context.cluster.name)
        container = await self._host.found(name, context.cluster)
        if container is None:
            spec = backend.load_balancer_spec(context.object)
            image = image_of(spec.image_repository, spec.image_tag)
            if (waiting := await self._pull(context, image)) is not None:
                return waiting
            container = await self._ensure(context, name, image)
        elif not container.is_running:
            await self._host.engine.start(name)
            self._written.pop(container.id, None)
            container = await self._host.found(name, context.cluster) or container
        ipv4, ipv6 = container.address()
        address = ipv6 if self._family(context.cluster) == "IPv6" else ipv4
        host = address if context.endpoint is None else context.endpoint.host
        if host and await self._host.find_way(container, host):
            self._way_found(context.cluster)
        if context.endpoint is not None:
            return context.endpoint
        if not address:
            because = f"container {name} has no IP address yet"
            return Waiting(message=because)
        return Endpoint(address, _port(context.object))

    async def register(self, member: Member) -> Waiting | None:
        await self._configure(member.cluster)
        return None

    async def drain(self, member: Member) -> Waiting | None:
        await self._configure(member.cluster)
        return None

    async def deregister(self, member: Member) -> Waiting | None:
        name = member.provider_id.rpartition("/")[2]
        await self._configure(member.cluster, without=name)
        return None

    async def remove(self, cluster: Key) -> None:
        """Remove the load balancer and all remaining objects of the cluster that kapy created."""
        for container in await self._host.of_cluster(cluster):
            if container.name == load_balancer_container(cluster.name) or _is_left_over(container):
                await self._host.engine.remove(container.name)
                self._written.pop(container.id, None)
        await self._host.tidy_network()

    async def _pull(self, context: ClusterContext[Any], image: str) -> Waiting | None:
        task = self._tasks.get(context.uid, "image")
        if task is None:
            if await self._host.engine.has_image(image):
                return None

            async def pull(running: Task) -> None:
                await self._host.engine.pull(image, running.tell)

            owner = (context.object.RESOURCE.kind, context.key, context.uid)
            operation = Operation(f"pulling image {image}", pull)
            task = self._tasks.start(owner, "image", [operation], PULL_TIMEOUT)
        if task.is_running:
            return Waiting(message=task.description, requeue_after=None)
        self._tasks.forget(context.uid, "image")
        if task.error is not None:
            raise task.error
        return None

    async def _ensure(self, context: ClusterContext[Any], name: str, image: str) -> Container:
        family = self._family(context.cluster)
        wanted = Wanted(
            name=name, cluster=context.cluster, role=LOAD_BALANCER, image=image, ip_family=family
        )
        template = await self._template(context.object)
        text = config_text(Balancing(port=_port(context.object), ipv6=family == "IPv6"), template)
        return await self._host.make(wanted, [File(PATH, text.encode())])

    async def _configure(self, cluster: Key, *, without: str = "") -> None:
        """Write the configuration if it has changed. without: a container to leave out."""
        lock = self._locks.setdefault(cluster, asyncio.Lock())
        async with lock:
            name = load_balancer_container(cluster.name)
            container = await self._existing(name, cluster)
            if container is None:
                return  # the cluster's infrastructure creates and deletes it
            text = (await self._text(cluster, without)).encode()
            digest = hashlib.sha256(text).digest()
            if self._written.get(container.id) == digest:
                return
            await self._host.engine.put_files(name, [File(PATH, text)])
            if container.is_running:
                await self._host.engine.kill(name, "SIGHUP")
            self._written[container.id] = digest

    async def _existing(self, name: str, cluster: Key) -> Container | None:
        """Return the load balancer, None if its name belongs to another Cluster: `endpoint` reports
        that."""
        try:
            return await self._host.found(name, cluster)
        except BelongsToAnother:
            return None

    async def _text(self, cluster: Key, without: str) -> str:
        infra = self._infra_of(cluster)
        family = self._family(cluster)
        weights = self._weights(cluster)
        backends: dict[str, Backend] = {}
        for container in await self._host.of_cluster(cluster, CONTROL_PLANE):
            ipv4, ipv6 = container.address()
            address = ipv6 if family == "IPv6" else ipv4
            if address and container.name != without:
                backends[container.name] = Backend(
                    address, weights.get(container.name, FULL_WEIGHT)
                )
        port = API_SERVER_PORT if infra is None else _port(infra)
        balancing = Balancing(port=port, backends=backends, ipv6=family == "IPv6")
        return config_text(balancing, "" if infra is None else await self._template(infra))

    def _weights(self, cluster: Key) -> Mapping[str, int]:
        """Machines that are being deleted get no new connections, unless no other is left."""
        machines = [
            machine
            for machine in self._machines.list(cluster.namespace)
            if machine.spec.cluster_name == cluster.name
            and Label.CONTROL_PLANE in machine.metadata.labels
        ]
        leaves = len(machines) > 1
        return {
            machine_container(cluster.name, machine.metadata.name): 0 if leaves else FULL_WEIGHT
            for machine in machines
            if machine.deleting
        }

    async def _template(self, infra: backend.Cluster) -> str:
        reference = backend.load_balancer_spec(infra).custom_ha_proxy_config_template_ref
        if reference is None:
            return ""
        key = Key(infra.metadata.namespace, reference.name)
        field = f"loadBalancer.customHAProxyConfigTemplateRef names ConfigMap {key}"
        try:
            result = await self._client.get(CONFIG_MAPS, key)
        except NotFound:
            raise NoTemplate(f"{field}, which does not exist: create it") from None
        template = (result.get("data") or {}).get(TEMPLATE_KEY)
        if not isinstance(template, str):
            raise NoTemplate(f'{field}, which has no key "{TEMPLATE_KEY}": add the template there')
        return template

    def _infra_of(self, cluster: Key) -> backend.Cluster | None:
        owner = self._clusters.get(cluster)
        reference = None if owner is None else owner.spec.infrastructure_ref
        if reference is None or reference.kind not in self._infra:
            return None
        result = self._infra[reference.kind].get(Key(cluster.namespace, reference.name))
        return result if isinstance(result, (DevCluster, DockerCluster)) else None

    def _family(self, cluster: Key) -> IPFamily:
        result = self._clusters.get(cluster)
        return "IPv4" if result is None else ip_family(result)


def _port(infra: backend.Cluster) -> int:
    return infra.spec.control_plane_endpoint.port or API_SERVER_PORT


def _is_left_over(container: Container) -> bool:
    """Return whether kapy created the container; kind and upstream's manager delete their own."""
    return NAMESPACE_LABEL in container.labels
