"""A whole management plane: core, kubeadm, the in-memory provider, and any others beside it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random

from kapy._aio.clock import Clock, loop_clock
from kapy.api.kinds import KINDS
from kapy.apiserver.server import Server
from kapy.apiserver.server.kube_controller_manager import add_kube_controllers
from kapy.apps.admission import AdmissionRules
from kapy.apps.conversion import convert_documents
from kapy.apps.definitions import install_definitions
from kapy.client.client import Client
from kapy.client.kubeconfig import Kubeconfig
from kapy.core.cluster.controller import add_to as add_clusters
from kapy.core.machine.controller import add_to as add_machines
from kapy.core.machinedeployment.controller import add_to as add_deployments
from kapy.core.machineset.controller import add_to as add_machine_sets
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.errors import Unreachable
from kapy.kube.http import ADMIN, Transport, User
from kapy.kube.names import CRDS, EVENTS, SECRETS, Resource
from kapy.providers.inmemory import InMemoryClusters
from kapy.providers.inmemory import add_to as add_in_memory
from kapy.providers.kubeadm.bootstrap.controller import add_to as add_bootstrap
from kapy.providers.kubeadm.controlplane.controller import add_to as add_control_planes
from kapy.remote.cluster_cache import ClusterCache
from kapy.testing.frozen import Frozen
from kapy.testing.story import Story
from tests.core.environment import default_namespace
from tests.providers.scripted.dialects import Dialect
from tests.providers.scripted.provider import Provider
from tests.providers.scripted.workloads import Workloads


@dataclass
class Plane:
    """Everything that runs. story: acts as a person. providers: by the name of their dialect."""

    story: Story
    client: Client
    workloads: Workloads
    providers: dict[str, Provider]
    clock: Clock

    async def all(self, resource: Resource) -> Sequence[Document]:
        """All objects of a kind."""
        return (await self.client.list(resource, "default")).items

    async def one(self, resource: Resource, name: str) -> Document:
        """An object of a provider."""
        return await self.client.get(resource, Key("default", name))

    async def spec(self, resource: Resource, name: str, **spec: object) -> None:
        """Change fields of an object's spec, as its provider does."""
        await self.client.patch(resource, Key("default", name), {"spec": spec})

    async def status(self, resource: Resource, name: str, **status: object) -> None:
        """Change fields of an object's status, as its provider does."""
        key = Key("default", name)
        await self.client.patch(resource, key, {"status": status}, subresource="status")


def own_resources() -> list[Resource]:
    """Everything that kapy defines, in the version that is stored."""
    return [kind.type_of().RESOURCE for kind in KINDS]


@asynccontextmanager
async def plane(
    *dialects: Dialect,
    crds: Iterable[Document] = (),
    user: User = ADMIN,
    seed: int = 0,
) -> AsyncIterator[Plane]:
    """Run it. crds: of providers that the test plays itself. user: who the controllers are."""
    clock = loop_clock()
    rules = AdmissionRules()
    server = Server.open(None, clock=clock, admission=(rules,), convert=convert_documents)
    rules.enable_reads(Client(server.transport(ADMIN)))
    add_kube_controllers(server)
    admin = Client(server.transport(ADMIN), field_manager="person")
    await default_namespace(admin)
    await install_definitions(admin)
    crds = [*crds, *(crd for dialect in dialects for crd in dialect.crds())]
    for crd in crds:
        await admin.create(CRDS, crd)
    try:
        async with asyncio.TaskGroup() as group:
            workloads = Workloads(clock, group)
            runtime = Runtime.on(Frozen(server.transport(user)), clock=clock, random=Random(seed))
            providers = {
                dialect.name: Provider(dialect, admin, workloads, clock) for dialect in dialects
            }
            services = [server.run, runtime.run, _controllers(runtime, workloads).run]
            services += [provider.work for provider in providers.values()]
            tasks = [group.create_task(service()) for service in services]
            served = [*own_resources(), *map(_stored, crds), SECRETS, EVENTS]
            yield Plane(Story(admin, served), admin, workloads, providers, clock)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            workloads.close()
    finally:
        server.close()


def _controllers(runtime: Runtime, workloads: Workloads) -> ClusterCache:
    in_memory = InMemoryClusters(clock=runtime.clock, elsewhere=workloads.dial)
    connections = ClusterCache(runtime, dial=in_memory.dial)
    in_memory.subscribe(connections.trigger_probe)

    def etcd_dial(cluster: Key, kubeconfig: Kubeconfig, node: str) -> Transport:
        try:
            return in_memory.etcd_dial(cluster, kubeconfig, node)
        except Unreachable:
            return workloads.etcd_dial(cluster, kubeconfig, node)

    for add in (add_clusters, add_machines, add_machine_sets, add_deployments, add_bootstrap):
        add(runtime, connections)
    add_control_planes(runtime, connections, etcd_dial=etcd_dial)
    add_in_memory(runtime, in_memory)
    return connections


def _stored(crd: Document) -> Resource:
    spec = crd["spec"]
    version = next(item["name"] for item in spec["versions"] if item["storage"])
    return Resource(spec["group"], version, spec["names"]["plural"], spec["names"]["kind"])
