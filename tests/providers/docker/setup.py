"""The docker backend on virtual time: a plane, an engine of paper, a workload cluster."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from kapy._aio.services import run_services
from kapy.api.cluster import Cluster
from kapy.api.dev_cluster import DevCluster
from kapy.api.dev_machine import DevMachine
from kapy.api.dev_machine_pool import DevMachinePool
from kapy.api.docker_cluster import DockerCluster
from kapy.api.docker_machine import DockerMachine
from kapy.api.docker_machine_pool import DockerMachinePool
from kapy.api.machine import Machine
from kapy.apiserver.server import Server
from kapy.client.client import Client
from kapy.client.kubeconfig import Kubeconfig
from kapy.kube import Document, Key
from kapy.kube.http import ADMIN, Transport
from kapy.kube.names import NODES, SECRETS, Resource
from kapy.providers.docker import Host, add_to
from kapy.providers.docker.load_balancer_config import PATH
from kapy.providers.docker.node_images import node_image
from kapy.remote.cluster_cache import ClusterCache
from kapy.sdk.workload_clusters import WorkloadClusters
from kapy.testing.provider_bench import NAMESPACE, ProviderBench, key, provider_bench
from kapy.testing.simulation.fake_engine import FakeEngine
from tests.remote.workload_clusters import secret
from tests.testing.conformance.behaviour.providers import template_of

VERSION = "v1.34.0"
NODE_IMAGE = node_image(VERSION).name
BALANCER_IMAGE = "kindest/haproxy:v20230606-42a2262b"
GROUP = "infrastructure.cluster.x-k8s.io/v1beta2"
CLUSTER = Key(NAMESPACE, "blue")

BOOT_DATA = b"""#cloud-config
write_files:
- path: /run/kubeadm/kubeadm.yaml
  owner: root:root
  permissions: '0640'
  content: |
    ---
    apiVersion: kubeadm.k8s.io/v1beta4
    kind: InitConfiguration
runcmd:
- 'echo before'
- 'kubeadm init --config /run/kubeadm/kubeadm.yaml && echo success > /run/done'
- 'echo after'
"""


@dataclass(frozen=True)
class Kinds:
    """The kinds of one of the two families. spec: wraps what a machine or cluster wants."""

    cluster: Resource
    machine: Resource
    pool: Resource
    nested: bool

    def spec(self, wanted: Document) -> Document:
        return {"backend": {"docker": wanted}} if self.nested else wanted

    def infra(self, wanted: Document | None = None) -> Document:
        return self._of(self.cluster, self.spec(wanted or {}))

    def machine_of(self, wanted: Document | None = None) -> Document:
        return self._of(self.machine, self.spec(wanted or {}))

    def pool_of(self, wanted: Document) -> Document:
        return self._of(self.pool, self.spec(wanted) if self.nested else {"template": wanted})

    def _of(self, resource: Resource, spec: Document) -> Document:
        return {
            "apiVersion": GROUP,
            "kind": resource.kind,
            "metadata": {"name": CLUSTER.name},
            "spec": spec,
        }


DEV = Kinds(DevCluster.RESOURCE, DevMachine.RESOURCE, DevMachinePool.RESOURCE, nested=True)
DOCKER = Kinds(
    DockerCluster.RESOURCE, DockerMachine.RESOURCE, DockerMachinePool.RESOURCE, nested=False
)


@dataclass
class Setup:
    """The environment of a test."""

    bench: ProviderBench
    engine: FakeEngine
    kinds: Kinds
    workload: Server
    host: Host | None = None

    @property
    def nodes(self) -> Client:
        """The workload cluster."""
        return Client(self.workload.transport(ADMIN))

    @property
    def balancer(self) -> str:
        """The configuration of the load balancer."""
        return self.engine.made["blue-lb"].files[PATH].decode()

    async def cluster(self, wanted: Document | None = None) -> None:
        """A Cluster whose infrastructure may be made; it waits until it is."""
        await self.bench.cluster("blue", self.kinds.infra(wanted))
        await self.bench.until(self.kinds.cluster, "blue", is_provisioned)
        await self.bench.cluster_provisioned("blue")

    async def machine(
        self,
        name: str,
        wanted: Document | None = None,
        *,
        control_plane: bool = False,
        data: bytes | None = BOOT_DATA,
        provider_id: str = "",
    ) -> None:
        """A Machine with boot data. data: None for a Secret without any. provider_id: of the
        container, where it is known before."""
        infra = self.kinds.machine_of(wanted)
        if provider_id:
            infra["spec"]["providerID"] = provider_id
        await self.bench.machine(
            "blue",
            name,
            infra,
            control_plane=control_plane,
            bootstrap_data=data,
            version=VERSION,
        )
        if data is None:
            metadata = {"name": name, "namespace": NAMESPACE}
            empty = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}
            await self.bench.client.create(SECRETS, empty)
            patch = {"spec": {"bootstrap": {"dataSecretName": name}}}
            await self.bench.client.patch(Machine.RESOURCE, key(name), patch)

    async def until(self, name: str, holds: Any) -> Document:
        """Wait for a state of a machine's object."""
        return await self.bench.until(self.kinds.machine, name, holds)

    async def booted(self, name: str) -> Document:
        """Wait until a machine has carried out its boot data."""
        return await self.until(name, lambda value: status(value, "BootstrapCompleted") == "True")

    async def initialized(self) -> None:
        """Let core say that the control plane answers; its kubeconfig is there."""
        await self.bench.client.create(SECRETS, secret("blue"))
        condition = {
            "type": "ControlPlaneInitialized",
            "status": "True",
            "reason": "Initialized",
            "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        patch = {"status": {"conditions": [condition]}}
        await self.bench.client.patch(Cluster.RESOURCE, CLUSTER, patch, subresource="status")

    async def node(self, name: str, **spec: Any) -> None:
        """A Node that joined the workload cluster."""
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": spec}
        addresses = [{"type": "Hostname", "address": name}]
        document = await self.nodes.create(NODES, node)
        patch = {"status": {"addresses": addresses}}
        await self.nodes.patch(NODES, Key.of(document), patch, subresource="status")

    async def delete_machine(self, name: str) -> None:
        """Delete a Machine and, as core does at the end, its infrastructure."""
        await self.bench.client.delete(Machine.RESOURCE, key(name))
        await self.bench.client.delete(self.kinds.machine, key(name))


@asynccontextmanager
async def playing(
    kinds: Kinds = DEV,
    *,
    engine: FakeEngine | None = None,
    follow: Callable[[Setup], AbstractAsyncContextManager[None]] | None = None,
) -> AsyncIterator[Setup]:
    """A setup whose controllers run. follow: runs them, and may end them, too."""
    resources = [
        resource
        for family in (DEV, DOCKER)
        for resource in (family.cluster, family.machine, family.pool, template_of(family.machine))
    ]
    async with provider_bench(resources) as bench:
        engine = engine or FakeEngine()
        engine.images |= {NODE_IMAGE, BALANCER_IMAGE}
        workload = Server.open(None, clock=bench.clock)
        setup = Setup(bench, engine, kinds, workload)
        try:
            async with (follow or controllers)(setup):
                yield setup
        finally:
            workload.close()


@asynccontextmanager
async def controllers(setup: Setup) -> AsyncIterator[None]:
    """The controllers of one program."""

    def dial(_: Kubeconfig) -> Transport:
        return setup.workload.transport(ADMIN)

    runtime = setup.bench.runtime
    connections = ClusterCache(runtime, dial=dial)
    host = setup.host = Host(lambda: setup.engine, {})
    services = add_to(runtime, WorkloadClusters(runtime, connections), host)
    async with setup.bench.running(), run_services(connections=connections.run, **services):
        await asyncio.sleep(0)
        yield


def is_provisioned(document: Document) -> bool:
    return bool(((document.get("status") or {}).get("initialization") or {}).get("provisioned"))


def conditions(document: Document) -> dict[str, tuple[str, str, str]]:
    return {
        condition["type"]: (condition["status"], condition["reason"], condition["message"])
        for condition in (document.get("status") or {}).get("conditions", ())
    }


def status(document: Document, type_: str) -> str:
    return conditions(document).get(type_, ("", "", ""))[0]


def message(document: Document, type_: str) -> str:
    return conditions(document).get(type_, ("", "", ""))[2]
