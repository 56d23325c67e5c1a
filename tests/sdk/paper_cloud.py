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
    ClusterOrder,
    ClusterProvisioned,
    Endpoint,
    InfraClusterProvider,
    InfraMachineProvider,
    MachineOrder,
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

    async def converge(self, order: MachineOrder[PaperMachine]) -> Provisioned | Waiting:
        name = order.key.name
        self.looks[name] = self.looks.get(name, 0) + 1
        self.data[name] = order.bootstrap_data
        if self.looks[name] < order.object.spec.sheets:
            return Waiting(because="booting", poll_after=timedelta(seconds=2))
        return Provisioned(
            provider_id=f"paper://{name}",
            addresses=(Address("InternalIP", "10.0.0.4"),),
            failure_domain=order.failure_domain,
        )

    async def release(self, order: MachineOrder[PaperMachine]) -> Released | Waiting:
        self.looks.pop(order.key.name, None)
        return Released()


class PaperLand(InfraClusterProvider[Document]):
    """Clusters of paper; documents, as not every provider has Structs."""

    def __init__(self) -> None:
        self.clusters: set[str] = set()

    async def converge(self, order: ClusterOrder[Document]) -> ClusterProvisioned | Waiting:
        self.clusters.add(order.key.name)
        endpoint = order.endpoint or Endpoint(f"{order.cluster.name}.paper", 6443)
        return ClusterProvisioned(endpoint=endpoint)

    async def release(self, order: ClusterOrder[Document]) -> Released | Waiting:
        self.clusters.discard(order.key.name)
        return Released()
