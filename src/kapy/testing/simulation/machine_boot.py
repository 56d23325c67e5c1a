"""Boot the machines of a custom provider: each becomes a Node by its boot data.

The provider reports an address for the API server, and then machines with a provider ID. A cloud
would start an operating system; here the boot data are read as cloud-init reads them, and the
machine joins a workload cluster in memory.
"""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, Protocol

from kapy._aio.clock import Clock
from kapy.apiserver.server import Server
from kapy.apiserver.store.watch_cache import WriteEvent
from kapy.kube import Document, Key
from kapy.kube.names import SECRETS, Resource
from kapy.providers.docker.containers import load_balancer_container
from kapy.providers.inmemory.workload.cluster import Host, Milestones, WorkloadCluster
from kapy.providers.inmemory.workload.kubeadm import Settings
from kapy.sdk import Endpoint
from kapy.testing.cloud.boot import Boot, boot_of
from kapy.testing.simulation.backups import Backups
from kapy.testing.simulation.container_engine import SimulatedEngine

BOOT_SECONDS: Final = 2.0
_JOIN_AGAIN: Final = 1.0
_OWNER: Final = "cluster.x-k8s.io/cluster-name"


class Clusters(Protocol):
    """The workload clusters of a cloud."""

    def get(self, cluster: Key) -> WorkloadCluster | None:
        """Return the workload cluster of a Cluster."""
        ...

    def open(self, cluster: Key, uid: str, endpoint: Endpoint) -> WorkloadCluster:
        """Return the workload cluster of a Cluster; open it if there is none."""
        ...

    def drop(self, cluster: Key) -> None:
        """Delete the workload cluster of a Cluster."""
        ...

    def workloads(self) -> list[WorkloadCluster]:
        """Return all workload clusters."""
        ...


class Surroundings(Protocol):
    """The environment of booting machines: a management cluster, and the clusters of its cloud."""

    server: Server
    backups: Backups
    clock: Clock
    resources: Mapping[str, Resource]

    @property
    def cloud(self) -> Clusters:
        """Return the workload clusters of the cloud."""
        ...

    def documents(self, resource: Resource) -> list[Document]:
        """Return all stored objects of a resource."""
        ...

    def spawn(self, work: Callable[[], Awaitable[None]]) -> None:
        """Start a task in the background. work: returns the coroutine."""
        ...


class MachineBoot:
    """Boots and ends machines when the provider's objects change. cluster, machine: the provider's
    kinds of infrastructure clusters and machines."""

    def __init__(self, world: Surroundings, cluster: Resource, machine: Resource) -> None:
        self._world = world
        self._cluster = cluster
        self._machine = machine
        self._booted: dict[str, str] = {}  # by name of the object, its uid

    def follow(self) -> None:
        """Start to watch the writes of the management cluster."""
        self._world.server.store.listeners.append(self._on_write)

    def _on_write(self, event: WriteEvent) -> None:
        if self._world.backups.is_undoing:
            return  # a cloud knows nothing of backups
        if event.table == self._cluster.group_resource:
            self._on_cluster(event)
        elif event.table == self._machine.group_resource:
            self._on_machine(event)

    def _on_cluster(self, event: WriteEvent) -> None:
        document, cloud = event.document, self._world.cloud
        cluster = _cluster_of(document)
        if event.change == "DELETED":
            cloud.drop(cluster)
            return
        endpoint = (document.get("spec") or {}).get("controlPlaneEndpoint") or {}
        if cluster.name and endpoint.get("host"):
            place = Endpoint(endpoint["host"], int(endpoint.get("port") or 0))
            cloud.open(cluster, document["metadata"]["uid"], place)

    def _on_machine(self, event: WriteEvent) -> None:
        document = event.document
        name, uid = event.name, str(document["metadata"]["uid"])
        if event.change == "DELETED":
            workload = self._world.cloud.get(_cluster_of(document))
            if self._booted.pop(name, None) is not None and workload is not None:
                workload.remove(name)
            return
        provider_id = (document.get("spec") or {}).get("providerID")
        status = (document.get("status") or {}).get("initialization") or {}
        if provider_id and status.get("provisioned") and name not in self._booted:
            self._booted[name] = uid
            self._world.spawn(lambda: self._boot(document))

    async def _boot(self, document: Document) -> None:
        # A timer, as it simulates time that a real machine would take.
        await asyncio.sleep(BOOT_SECONDS)
        machine, data = self._boot_data(document)
        name, provider_id = document["metadata"]["name"], document["spec"].get("providerID", "")
        boot = boot_of(data, hostname=name, instance_id=provider_id.rpartition("/")[2])
        host = Host(
            boot.name,
            document["metadata"]["uid"],
            boot.provider_id or self._node_provider_id(provider_id),
            machine["spec"].get("version", ""),
            boot.control_plane,
        )
        while self._booted.get(name) == host.uid:
            workload = self._world.cloud.get(_cluster_of(document))
            if workload is not None and (boot.begins or workload.answers):
                self._start(workload, host, boot)
                return
            await asyncio.sleep(_JOIN_AGAIN)  # kubeadm join retries until the API server answers

    def _boot_data(self, document: Document) -> tuple[Document, bytes]:
        """Return the Machine and the boot data of an infrastructure machine."""
        owners = {owner["name"] for owner in document["metadata"].get("ownerReferences") or ()}
        machines = self._world.documents(self._world.resources["Machine"])
        machine = next(
            candidate for candidate in machines if candidate["metadata"]["name"] in owners
        )
        secret = machine["spec"]["bootstrap"]["dataSecretName"]
        secrets = self._world.documents(SECRETS)
        data = next(
            candidate["data"] for candidate in secrets if candidate["metadata"]["name"] == secret
        )
        return machine, b64decode(data["value"])

    def _start(self, workload: WorkloadCluster, host: Host, boot: Boot) -> None:
        now = self._world.clock()
        workload.machines[host.name] = Milestones(now, now, now)
        workload.start_node(host)
        if boot.authority is None:
            return
        self._register(workload, host)
        workload.start_etcd(host, boot.etcd_authority, boot.text)
        settings = Settings(
            workload.key.name, host.version, workload.url, boot.authority.certificate
        )
        workload.start_api_server(host, boot.authority, settings, boot.text)

    def _node_provider_id(self, provider_id: str) -> str:
        """Return the provider ID with which a kubelet registers its Node."""
        return provider_id

    def _register(self, workload: WorkloadCluster, host: Host) -> None:
        """Add a machine to the load balancer of its cluster, as a cloud does."""
        workload.register(host.name)


class ContainerBoot(MachineBoot):
    """Boots machines that are containers of an engine, once kubeadm runs in them."""

    def follow_engine(self, engine: SimulatedEngine) -> None:
        """Start to watch the containers of an engine, and the management cluster."""
        engine.boot, engine.removed = self._run_kubeadm, self._on_removal
        engine.balanced = self._on_balance
        self.follow()

    def _on_machine(self, event: WriteEvent) -> None:
        """Do nothing: the container engine reports the changes of machines."""

    def _node_provider_id(self, provider_id: str) -> str:
        """Return "": the controller of the machine sets the provider ID of the Node."""
        del provider_id
        return ""

    def _register(self, workload: WorkloadCluster, host: Host) -> None:
        """Do nothing: the load balancer is a container, which the provider configures."""

    async def _run_kubeadm(self, name: str) -> None:
        machines = self._world.documents(self._machine)
        document = next(
            (machine for machine in machines if machine["metadata"]["name"] == name), None
        )
        if document is not None:
            self._booted[name] = str(document["metadata"]["uid"])
            await self._boot(document)

    def _on_removal(self, name: str) -> None:
        self._booted.pop(name, None)
        for workload in self._world.cloud.workloads():
            if name in workload.machines:
                workload.remove(name)

    def _on_balance(self, name: str, members: Sequence[str]) -> None:
        for workload in self._world.cloud.workloads():
            if load_balancer_container(workload.key.name) == name:
                for machine in workload.machines.keys() - set(members):
                    workload.deregister(machine)
                for machine in members:
                    workload.register(machine)


def _cluster_of(document: Document) -> Key:
    metadata = document["metadata"]
    name = (metadata.get("labels") or {}).get(_OWNER, "")
    if not name:
        owners = metadata.get("ownerReferences") or ()
        name = next((owner["name"] for owner in owners if owner["kind"] == "Cluster"), "")
    return Key(metadata["namespace"], name)
