"""A whole infrastructure provider: machines and clusters that exist on paper."""

from __future__ import annotations

from datetime import timedelta
from typing import ClassVar

from msgspec import field

from kapy.kube import Document
from kapy.kube.meta import Object
from kapy.kube.model import Model
from kapy.kube.names import Resource
from kapy.sdk import (
    Address,
    ClusterContext,
    ClusterProvisioned,
    Endpoint,
    InfraClusterProvider,
    InfraMachineProvider,
    MachineContext,
    Provisioned,
    Released,
    Waiting,
)

GROUP = "infrastructure.cluster.x-k8s.io"
MACHINE: Document = {"apiVersion": f"{GROUP}/v1", "kind": "PaperMachine", "spec": {"sheets": 3}}
CLUSTER: Document = {"apiVersion": f"{GROUP}/v1", "kind": "PaperCluster", "spec": {}}


class PaperMachineSpec(Model):
    sheets: int = 1


class PaperMachine(Object):
    RESOURCE: ClassVar[Resource] = Resource(GROUP, "v1", "papermachines", "PaperMachine")

    spec: PaperMachineSpec = field(default_factory=PaperMachineSpec)


PAPER_CLUSTERS = Resource(GROUP, "v1", "paperclusters", "PaperCluster")


class PaperCloud(InfraMachineProvider[PaperMachine]):
    """A machine needs as many looks to boot as it has sheets."""

    def __init__(self) -> None:
        self.looks: dict[str, int] = {}
        self.data: dict[str, bytes] = {}

    async def reconcile_normal(
        self, context: MachineContext[PaperMachine]
    ) -> Provisioned | Waiting:
        name = context.key.name
        self.looks[name] = self.looks.get(name, 0) + 1
        self.data[name] = context.bootstrap_data
        if self.looks[name] < context.object.spec.sheets:
            return Waiting(message="booting", requeue_after=timedelta(seconds=2))
        return Provisioned(
            provider_id=f"paper://{name}",
            addresses=(Address("InternalIP", "10.0.0.4"),),
            failure_domain=context.failure_domain,
        )

    async def reconcile_delete(self, context: MachineContext[PaperMachine]) -> Released | Waiting:
        self.looks.pop(context.key.name, None)
        return Released()


class PaperLand(InfraClusterProvider[Document]):
    """Clusters of paper; documents, as not every provider has Structs."""

    def __init__(self) -> None:
        self.clusters: set[str] = set()

    async def reconcile_normal(
        self, context: ClusterContext[Document]
    ) -> ClusterProvisioned | Waiting:
        self.clusters.add(context.key.name)
        endpoint = context.endpoint or Endpoint(f"{context.cluster.name}.paper", 6443)
        return ClusterProvisioned(endpoint=endpoint)

    async def reconcile_delete(self, context: ClusterContext[Document]) -> Released | Waiting:
        self.clusters.discard(context.key.name)
        return Released()
