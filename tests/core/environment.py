"""Core's controllers on a plane of their own, with providers that a test moves by hand.

The providers are CRDs that keep whatever they are given (`FakeMachine` and its like); the
workload cluster is a second API server, reached in process.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any

from kapy._aio.clock import Clock, loop_clock
from kapy.api.cluster import Cluster
from kapy.api.cluster_resource_set import ClusterResourceSet
from kapy.api.crds import crds
from kapy.api.features import DEFAULT_GATES, FeatureGates
from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_health_check import MachineHealthCheck
from kapy.api.machine_pool import MachinePool
from kapy.api.machine_set import MachineSet
from kapy.apiserver.server import Server, ServerWithoutKubelets
from kapy.apiserver.server.kube_controller_manager import add_kube_controllers
from kapy.apps.admission import AdmissionRules
from kapy.client.client import Client
from kapy.core.cluster.controller import add_to as add_clusters
from kapy.core.clusterresourceset.controller import add_to as add_resource_sets
from kapy.core.clusterresourcesetbinding.controller import add_to as add_bindings
from kapy.core.machine.controller import add_to as add_machines
from kapy.core.machinedeployment.controller import add_to as add_deployments
from kapy.core.machinehealthcheck.controller import add_to as add_health_checks
from kapy.core.machinepool.controller import add_to as add_pools
from kapy.core.machineset.controller import add_to as add_machine_sets
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.errors import AlreadyExists, Unreachable
from kapy.kube.http import ADMIN, Reply, Request, Transport
from kapy.kube.names import CONFIG_MAPS, CRDS, NAMESPACES, NODES, SECRETS, Resource
from kapy.remote.cluster_cache import ClusterCache
from kapy.testing.story import Story

VERSION = "v1.34.0"


def _fake(group: str, kind: str) -> Resource:
    return Resource(f"{group}.cluster.x-k8s.io", "v1beta2", f"{kind.lower()}s", kind)


INFRA_CLUSTERS = _fake("infrastructure", "FakeCluster")
INFRA_MACHINES = _fake("infrastructure", "FakeMachine")
INFRA_TEMPLATES = _fake("infrastructure", "FakeMachineTemplate")
INFRA_POOLS = _fake("infrastructure", "FakeMachinePool")
CONFIGS = _fake("bootstrap", "FakeConfig")
CONFIG_TEMPLATES = _fake("bootstrap", "FakeConfigTemplate")
CONTROL_PLANES = _fake("controlplane", "FakeControlPlane")
PROVIDED = (
    INFRA_CLUSTERS,
    INFRA_MACHINES,
    INFRA_TEMPLATES,
    INFRA_POOLS,
    CONFIGS,
    CONFIG_TEMPLATES,
    CONTROL_PLANES,
)
OWN = (
    Cluster,
    Machine,
    MachineSet,
    MachineDeployment,
    MachinePool,
    MachineHealthCheck,
    ClusterResourceSet,
)
CONTROLLERS = (
    add_clusters,
    add_machines,
    add_machine_sets,
    add_deployments,
    add_pools,
    add_health_checks,
    add_resource_sets,
    add_bindings,
)


def crd_of(resource: Resource) -> Document:
    """The CRD of a provider's kind that keeps whatever it is given."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": anything, "status": anything}}
    version = {
        "name": resource.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": resource.group_resource,
            "labels": {"cluster.x-k8s.io/v1beta2": resource.version},
        },
        "spec": {
            "group": resource.group,
            "scope": "Namespaced",
            "names": {
                "plural": resource.plural,
                "singular": resource.kind.lower(),
                "kind": resource.kind,
                "listKind": f"{resource.kind}List",
            },
            "versions": [version],
        },
    }


def _of_core() -> list[Document]:
    """The CRDs of core's own groups: those of kapy's providers are larger than all of them."""
    groups = {resource.group for resource in PROVIDED}
    return [crd for crd in crds() if crd["spec"]["group"] not in groups]


class Wire:
    """A transport to a workload cluster that can be silent, or slow (seconds per response).

    requests: the requests so far. fault: returns the error of a request, None for no error.
    """

    over_network = False

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.silent = False
        self.delay = 0.0
        self.requests: list[Request] = []
        self.fault: Callable[[Request], Exception | None] = lambda _: None

    async def __call__(self, request: Request) -> Reply:
        self.requests.append(request)
        if (fault := self.fault(request)) is not None:
            raise fault
        if self.silent:
            raise Unreachable("no route to host")
        if self.delay:
            await asyncio.sleep(self.delay)
        return await self._transport(request)


class Counted:
    """A transport that counts writes, and can be made to fail."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.writes: list[tuple[str, str]] = []
        self.fault: Callable[[Request], Exception | None] = lambda _: None
        self.lose: Callable[[Request], bool] = lambda _: False

    async def __call__(self, request: Request) -> Reply:
        if (fault := self.fault(request)) is not None:
            raise fault
        reply = await self._transport(request)
        if request.method != "GET":
            self.writes.append((request.method, request.path))
            if self.lose(request):
                raise Unreachable("the answer was lost")
        return reply


@dataclass
class Environment:
    """A running plane. story: acts as a person. workload: a client of the workload cluster.
    updates: who updates Machines in place, None where nobody may; from the next start on."""

    story: Story
    client: Client
    workload: Client
    controllers: Counted
    wire: Wire
    clock: Clock
    random: Random
    group: asyncio.TaskGroup
    tasks: list[asyncio.Task[None]] = field(default_factory=list)
    updates: Any = None

    def start(self) -> None:
        """Run the controllers, as a program that has just been started."""
        runtime = Runtime.on(self.controllers, clock=self.clock, random=self.random)
        connections = ClusterCache(runtime, dial=lambda _: self.wire)
        for add in CONTROLLERS:
            updating = add in (add_machines, add_deployments)
            document: dict[str, Any] = {"updates": self.updates} if updating else {}
            add(runtime, connections, **document)
        services = (runtime.run, connections.run)
        self.tasks = [self.group.create_task(service()) for service in services]

    async def stop(self) -> None:
        """End the controllers at once, whatever they are doing."""
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    async def kill_after(self, writes: int) -> None:
        """Let the controllers write so many times more (or become quiet), then start anew."""
        end, patience = len(self.controllers.writes) + writes, 100
        while len(self.controllers.writes) < end and patience:
            await asyncio.sleep(0 if patience > 50 else 0.1)
            patience -= 1
        await self.stop()
        self.start()

    async def create(self, *documents: Document) -> None:
        await self.story.create(list(documents))

    async def provider(self, resource: Resource, name: str) -> Document:
        return await self.client.get(resource, Key("default", name))

    async def report(self, resource: Resource, name: str, **status: Any) -> None:
        """Set fields of a provider object's status."""
        key = Key("default", name)
        await self.client.patch(resource, key, {"status": status}, subresource="status")

    async def all(self, resource: Resource) -> Sequence[Document]:
        return (await self.client.list(resource, "default")).items

    async def connect(self, cluster: str = "c") -> None:
        """Give the cluster its kubeconfig."""
        await self.client.create(SECRETS, kubeconfig_of(cluster))

    async def settle(self, seconds: float = 5.0) -> None:
        await asyncio.sleep(seconds)

    async def boot(self, machine: str) -> None:
        """Do for a Machine what its providers do: data secret, machine, Node."""
        await self.report(
            CONFIGS, machine, dataSecretName=machine, initialization={"dataSecretCreated": True}
        )
        key = Key("default", machine)
        patch = {"spec": {"providerID": f"fake://{machine}"}}
        await self.client.patch(INFRA_MACHINES, key, patch)
        await self.report(INFRA_MACHINES, machine, initialization={"provisioned": True})
        result = await self.client.get(Machine, key)
        node = node_of(machine, result.spec.version)
        await self.workload.create(NODES, node)
        status = {"status": node["status"]}
        await self.workload.patch(NODES, Key("", machine), status, subresource="status")

    async def boot_all(self) -> None:
        """`boot` every Machine that has no Node yet."""
        nodes = {
            document["metadata"]["name"] for document in (await self.workload.list(NODES)).items
        }
        for machine in await self.story.all(Machine):
            if machine.metadata.name not in nodes and not machine.deleting:
                await self.boot(machine.metadata.name)

    async def finish_deletions(self) -> None:
        """Let provider objects go that hold on with a finalizer of their own."""
        for resource in PROVIDED:
            for document in await self.all(resource):
                metadata = document["metadata"]
                if metadata.get("deletionTimestamp") and metadata.get("finalizers"):
                    patch = {"metadata": {"finalizers": None}}
                    await self.client.patch(resource, Key.of(document), patch)


def kubeconfig_of(cluster: str, host: str = "") -> Document:
    text = f"""
apiVersion: v1
kind: Config
clusters: [{{name: c, cluster: {{server: "https://{host or cluster}:6443"}}}}]
users: [{{name: u, user: {{token: t}}}}]
contexts: [{{name: x, context: {{cluster: c, user: u}}}}]
current-context: x
"""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": f"{cluster}-kubeconfig",
            "namespace": "default",
            "labels": {"cluster.x-k8s.io/cluster-name": cluster},
        },
        "type": "cluster.x-k8s.io/secret",
        "data": {"value": base64.b64encode(text.encode()).decode()},
    }


def node_of(name: str, version: str = VERSION) -> Document:
    conditions = [
        {"type": of, "status": status}
        for of, status in (
            ("Ready", "True"),
            ("MemoryPressure", "False"),
            ("DiskPressure", "False"),
            ("PIDPressure", "False"),
        )
    ]
    info = dict.fromkeys(
        (
            "architecture",
            "bootID",
            "containerRuntimeVersion",
            "kernelVersion",
            "kubeProxyVersion",
            "machineID",
            "operatingSystem",
            "osImage",
            "systemUUID",
        ),
        "",
    )
    taint = {"key": "node.cluster.x-k8s.io/uninitialized", "effect": "NoSchedule"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "spec": {"providerID": f"fake://{name}", "taints": [taint]},
        "status": {"conditions": conditions, "nodeInfo": {**info, "kubeletVersion": version}},
    }


def reference(resource: Resource, name: str) -> Document:
    return {"apiGroup": resource.group, "kind": resource.kind, "name": name}


def of(resource: Resource, name: str, **parts: Any) -> Document:
    """A provider's object."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": name, "namespace": "default"},
        **parts,
    }


def cluster(name: str = "c", **spec: Any) -> Document:
    references = {
        "infrastructureRef": reference(INFRA_CLUSTERS, name),
        "controlPlaneRef": reference(CONTROL_PLANES, name),
    }
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Cluster",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {**references, **spec},
    }


def templates(name: str = "md") -> list[Document]:
    """The templates that workers are made of."""
    return [
        of(INFRA_TEMPLATES, name, spec={"template": {"spec": {"size": "small"}}}),
        of(CONFIG_TEMPLATES, name, spec={"template": {"spec": {"words": "hello"}}}),
    ]


def deployment(replicas: int, name: str = "md", **spec: Any) -> Document:
    template = {
        "clusterName": "c",
        "version": VERSION,
        "bootstrap": {"configRef": reference(CONFIG_TEMPLATES, name)},
        "infrastructureRef": reference(INFRA_TEMPLATES, name),
    }
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "MachineDeployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "clusterName": "c",
            "replicas": replicas,
            "template": {"spec": template},
            **spec,
        },
    }


async def running_cluster(environment: Environment, **parts: Any) -> None:
    """A Cluster whose infrastructure and control plane are there."""
    endpoint = {"host": "1.2.3.4", "port": 6443}
    await environment.create(
        of(INFRA_CLUSTERS, "c", spec={"controlPlaneEndpoint": endpoint}),
        of(CONTROL_PLANES, "c", spec={"version": VERSION, "replicas": 1}),
        cluster(**parts),
    )
    await environment.report(INFRA_CLUSTERS, "c", initialization={"provisioned": True})
    available = {"type": "Available", "status": "True", "reason": "Available", "message": ""}
    await environment.report(
        CONTROL_PLANES,
        "c",
        initialization={"controlPlaneInitialized": True},
        version=VERSION,
        versions=[{"version": VERSION, "replicas": 1}],
        replicas=1,
        readyReplicas=1,
        availableReplicas=1,
        upToDateReplicas=1,
        conditions=[available],
    )
    await environment.connect()


async def default_namespace(client: Client) -> None:
    """Make the namespace; a running server makes it too."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}
    with suppress(AlreadyExists):
        await client.create(NAMESPACES, namespace)


@asynccontextmanager
async def core_environment(
    seed: int = 0, *, gates: FeatureGates = DEFAULT_GATES
) -> AsyncIterator[Environment]:
    """Core's controllers, running."""
    clock = loop_clock()
    server = Server.open(None, clock=clock, admission=(AdmissionRules(gates),))
    workload = ServerWithoutKubelets.open(None, clock=clock)
    add_kube_controllers(workload)
    admin = Client(server.transport(ADMIN), field_manager="person")
    await default_namespace(admin)
    for crd in (*_of_core(), *map(crd_of, PROVIDED)):
        await admin.create(CRDS, crd)
    resources: Iterable[Resource] = (
        *PROVIDED,
        *(kind.RESOURCE for kind in OWN),
        SECRETS,
        CONFIG_MAPS,
    )
    try:
        async with asyncio.TaskGroup() as group:
            servers = [group.create_task(item.run()) for item in (server, workload)]
            running = Environment(
                Story(admin, resources),
                admin,
                Client(workload.transport(ADMIN)),
                Counted(server.transport(ADMIN)),
                Wire(workload.transport(ADMIN)),
                clock,
                Random(seed),
                group,
            )
            running.start()
            yield running
            await running.stop()
            for task in servers:
                task.cancel()
    finally:
        server.close()
        workload.close()
