"""A management plane with one workload cluster, both in this process, for the kubeadm providers.

Nobody plays the core controllers or an infrastructure provider here: tests move those objects by
hand.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from kapy._aio.clock import Clock, loop_clock
from kapy.api.cluster import Cluster
from kapy.api.dev_machine import DevMachine, DevMachineTemplate
from kapy.api.kubeadm_config import KubeadmConfig
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine import Machine
from kapy.api.machine_pool import MachinePool
from kapy.api.schema import structural_schema
from kapy.apiserver.server import Server
from kapy.client.client import Client
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.errors import AlreadyExists, Unreachable
from kapy.kube.http import ADMIN, Reply, Request, Transport
from kapy.kube.meta import Object
from kapy.kube.names import CONFIG_MAPS, CRDS, NAMESPACES, NODES, PODS, SECRETS
from kapy.remote.cluster_cache import ClusterCache, Kubeconfig
from kapy.testing.frozen import Frozen

KINDS: tuple[type[Object], ...] = (
    Cluster,
    Machine,
    MachinePool,
    KubeadmConfig,
    KubeadmControlPlane,
    DevMachine,
    DevMachineTemplate,
)


@cache
def crd(kind: type[Object], *, strict: bool) -> Document:
    """The CRD of one of our kinds; without `strict` it takes any object."""
    resource = kind.RESOURCE
    schema: Document = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    if strict:
        schema = structural_schema(kind)
        schema["properties"]["metadata"] = {"type": "object"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{resource.plural}.{resource.group}",
            "labels": {"cluster.x-k8s.io/v1beta2": "v1beta2"},
        },
        "spec": {
            "group": resource.group,
            "scope": "Namespaced",
            "names": {
                "kind": resource.kind,
                "plural": resource.plural,
                "singular": resource.kind.lower(),
                "listKind": f"{resource.kind}List",
            },
            "versions": [
                {
                    "name": resource.version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}},
                }
            ],
        },
    }


@dataclass
class Counted:
    """Counts the writes (and, after the first lists, reads) that pass through. fault: what a
    request fails with."""

    transport: Transport
    requests: list[str] = field(default_factory=list)
    fault: Callable[[Request], Exception | None] = lambda _: None

    async def __call__(self, request: Request) -> Reply:
        self.requests.append(f"{request.method} {request.path}")
        if (fault := self.fault(request)) is not None:
            raise fault
        return await self.transport(request)


@dataclass
class Plane:
    """Everything that a test moves by hand."""

    client: Client
    workload: Client
    runtime: Runtime
    remote: ClusterCache
    clock: Clock
    counted: Counted
    reachable: bool = True

    async def create(self, *documents: Document) -> list[Document]:
        """Create objects with their status, in this order."""
        return [await self._create(document) for document in documents]

    async def _create(self, document: Document) -> Document:
        resource = _RESOURCES[document["kind"]]
        patch = await self.client.create(resource, document)
        status = document.get("status")
        if status and resource.group:
            key = (patch["metadata"].get("namespace", ""), patch["metadata"]["name"])
            patch = await self.client.patch(
                resource, Key(*key), {"status": status}, subresource="status"
            )
        return patch


_RESOURCES = {
    resource.kind: resource
    for resource in (
        *(kind.RESOURCE for kind in KINDS),
        CONFIG_MAPS,
        NAMESPACES,
        NODES,
        PODS,
        SECRETS,
    )
}


@asynccontextmanager
async def running(*add: Callable[[Plane], Any], strict: bool = True) -> AsyncIterator[Plane]:
    """Run the controllers that `add` puts into the plane."""
    clock = loop_clock()
    management, workload = Server.open(None, clock=clock), Server.open(None, clock=clock)
    client = Client(management.transport(ADMIN), field_manager="test")
    for kind in KINDS:
        await client.create(CRDS, crd(kind, strict=strict))
    for server, namespace in ((management, "default"), (workload, "kube-system")):
        asker = Client(server.transport(ADMIN), field_manager="test")
        document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        with suppress(AlreadyExists):
            await asker.create(NAMESPACES, document)
    counted = Counted(Frozen(management.transport(ADMIN)))
    runtime = Runtime.on(counted, clock=clock, field_manager="kapy")

    def dial(_: Kubeconfig) -> Transport:
        if not plane.reachable:
            raise Unreachable("the workload cluster is not up")
        return Frozen(workload.transport(ADMIN))

    remote = ClusterCache(runtime, dial=dial)
    plane = Plane(
        client,
        Client(workload.transport(ADMIN), field_manager="test"),
        runtime,
        remote,
        clock,
        counted,
    )
    for item in add:
        item(plane)
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(service())
            for service in (management.run, workload.run, runtime.run, remote.run)
        ]
        yield plane
        for task in tasks:
            task.cancel()
    management.close()
    workload.close()


async def settled(seconds: float = 1.0) -> None:
    """Let the controllers work off what there is."""
    await asyncio.sleep(seconds)
