"""A management cluster with providers and a Cluster, and that cluster itself, in process.

The cluster itself has a Node, whose kubelet makes Deployments available; on both sides somebody
tells that a Cluster that is not paused is Available, as controllers would.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from kapy._aio.clock import loop_clock
from kapy.client.client import Client
from kapy.clusterctl import install
from kapy.clusterctl.install.requested_providers import RequestedProviders
from kapy.clusterctl.pivot.host import CLUSTERS
from kapy.clusterctl.pivot.operation import Direction, Pivot, Side
from kapy.clusterctl.progress import line, no_progress
from kapy.clusterctl.provider import ProviderType
from kapy.kube import Document, Key
from kapy.kube.errors import Conflict, NotFound
from kapy.kube.names import DEPLOYMENTS, NODES, SECRETS, Resource
from tests.clusterctl.move.killed_process import Life
from tests.clusterctl.releases import ACME_THINGS, Releases, management_cluster

PROD: Final = Key("default", "prod")
AVAILABLE: Final = {"type": "Available", "status": "True", "reason": "Available", "message": ""}
INITIALIZED: Final = {**AVAILABLE, "type": "ControlPlaneInitialized"}


@dataclass
class Setup:
    """plane: the management cluster. itself: the workload cluster. said: what a pivot told."""

    plane: Client
    itself: Client
    releases: Releases
    folder: Path
    said: list[str] = field(default_factory=list)

    def pivot(self, life: Life | None = None, **way: Any) -> Pivot:
        """A pivot; by a process that ends where its life does."""

        def say(text: str, /, **values: str | Document) -> None:
            self.said.append(line(text, values))

        def tell(level: int, message: str, /, **values: Any) -> None:
            if not level:
                self.said.append(message)

        lasting = life or Life()
        options = {"config": self.releases.config(), "wait": 60.0, **way}
        direction = Direction(
            clock=loop_clock(), journals=self.folder / "moves", say=say, tell=tell, **options
        )
        sides = (Side(lasting.client(self.plane)), Side(lasting.client(self.itself), "prod.conf"))
        return Pivot(PROD, *sides, direction)

    async def clusters(self) -> tuple[list[str], list[str]]:
        """The names of the Clusters here, and in the cluster itself."""
        return await _names(self.plane, CLUSTERS), await _names(self.itself, CLUSTERS)

    async def things(self) -> tuple[list[str], list[str]]:
        """The same of the provider's objects."""
        return await _names(self.plane, ACME_THINGS), await _names(self.itself, ACME_THINGS)


async def _names(client: Client, resource: Resource) -> list[str]:
    try:
        return [document["metadata"]["name"] for document in (await client.list(resource)).items]
    except NotFound:
        return []


@asynccontextmanager
async def setup(folder: Path, *, kubelet: bool = True) -> AsyncIterator[Setup]:
    """Providers are installed in the management cluster, and nothing in the cluster itself."""
    releases = Releases(folder / "releases")
    providers = RequestedProviders({ProviderType.INFRASTRUCTURE: ["acme:v1.0.0"]})
    async with (
        management_cluster(controllers=True) as plane,
        management_cluster(controllers=True) as itself,
        asyncio.TaskGroup() as group,
    ):
        await install.init(
            plane, releases.config(), providers, clock=loop_clock(), progress=no_progress
        )
        for obj in objects():
            await plane.create(_RESOURCES[obj["kind"]], obj)
        await itself.create(NODES, node())
        tasks = [
            group.create_task(_keep(client, CLUSTERS, _looked_after)) for client in (plane, itself)
        ]
        tasks.append(group.create_task(_keep(plane, DEPLOYMENTS, _running)))
        if kubelet:
            tasks.append(group.create_task(_keep(itself, DEPLOYMENTS, _running)))
        yield Setup(plane, itself, releases, folder)
        for task in tasks:
            task.cancel()


def objects() -> list[Document]:
    """A Cluster, with an object of its provider and its kubeconfig."""
    status = {
        "initialization": {"infrastructureProvisioned": True},
        "conditions": [INITIALIZED, AVAILABLE],
    }
    meta = {"name": PROD.name, "namespace": PROD.namespace}
    labels = {"cluster.x-k8s.io/cluster-name": PROD.name}
    secret = {"name": f"{PROD.name}-kubeconfig", "namespace": PROD.namespace, "labels": labels}
    moved = {**meta, "labels": {"clusterctl.cluster.x-k8s.io/move": ""}}
    return [
        {"apiVersion": CLUSTERS.api_version, "kind": "Cluster", "metadata": meta, "spec": {},
         "status": status},
        {"apiVersion": ACME_THINGS.api_version, "kind": "AcmeThing", "metadata": moved},
        {"apiVersion": "v1", "kind": "Secret", "metadata": secret, "data": {"value": "eA=="}},
    ]  # fmt: skip


def node(*, ready: str = "True", message: str = "", **spec: Any) -> Document:
    """A Node of the cluster."""
    conditions = [{"type": "Ready", "status": ready, "message": message}]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "prod-0"},
        "spec": spec,
        "status": {"conditions": conditions},
    }


_RESOURCES: Final = {"Cluster": CLUSTERS, "AcmeThing": ACME_THINGS, "Secret": SECRETS}


def _looked_after(cluster: Document) -> Document | None:
    conditions = (cluster.get("status") or {}).get("conditions") or []
    there = {condition["type"] for condition in conditions if condition["status"] == "True"}
    if (cluster.get("spec") or {}).get("paused") or {"Available", INITIALIZED["type"]} <= there:
        return None
    done = {"infrastructureProvisioned": True}
    return {"status": {"initialization": done, "conditions": [INITIALIZED, AVAILABLE]}}


def _running(deployment: Document) -> Document | None:
    if (deployment.get("status") or {}).get("conditions"):
        return None
    return {"status": {"conditions": [AVAILABLE]}}


async def _keep(client: Client, resource: Resource, wanted: Any) -> None:
    """Give each object of a kind the status that it should have."""
    subresource = "status" if resource is DEPLOYMENTS else ""
    while True:
        await asyncio.sleep(1)
        try:
            results = (await client.list(resource)).items
        except NotFound:
            continue
        for document in results:
            patch = wanted(document)
            if patch is not None:
                with suppress(NotFound, Conflict):
                    await client.patch(resource, Key.of(document), patch, subresource=subresource)
