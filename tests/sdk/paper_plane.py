"""A whole control plane provider: a service that runs control planes of paper."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import ClassVar

from msgspec import field

from kapy.api.condition import Condition, V1Beta1Condition
from kapy.kube import Document
from kapy.kube.meta import Object
from kapy.kube.model import Model
from kapy.kube.names import Resource
from kapy.sdk import (
    ClusterCertificate,
    ControlPlaneOrder,
    ControlPlaneProvider,
    ControlPlaneProvisioned,
    Endpoint,
    Released,
    Replicas,
    Waiting,
    in_v1beta1,
)

GROUP = "controlplane.cluster.x-k8s.io"
PLANE: Document = {
    "apiVersion": f"{GROUP}/v1",
    "kind": "PaperControlPlane",
    "spec": {"version": "1.34.1", "replicas": 3},
}


class PaperControlPlaneSpec(Model):
    version: str = ""
    replicas: int | None = None


class PaperControlPlane(Object):
    RESOURCE: ClassVar[Resource] = Resource(GROUP, "v1", "papercontrolplanes", "PaperControlPlane")

    spec: PaperControlPlaneSpec = field(default_factory=PaperControlPlaneSpec)


class PaperService(ControlPlaneProvider[PaperControlPlane]):
    """A control plane needs three looks; the service upgrades one version at a look."""

    algorithm = "ECDSA-P256"

    def __init__(self) -> None:
        self.looks: dict[str, int] = {}
        self.versions: dict[str, str] = {}

    async def converge(
        self, order: ControlPlaneOrder[PaperControlPlane]
    ) -> ControlPlaneProvisioned | Waiting:
        name = order.key.name
        self.looks[name] = self.looks.get(name, 0) + 1
        if self.looks[name] < 3:
            return Waiting(because="drawing it", poll_after=timedelta(seconds=2))
        await order.keys.ensure(ClusterCertificate("ca", algorithm="ECDSA-P256"))
        running = self.versions.setdefault(name, order.version)
        self.versions[name] = order.version
        behind = running != order.version
        return ControlPlaneProvisioned(
            endpoint=Endpoint(f"{order.cluster.name}.paper", 6443),
            version=running,
            replicas=Replicas(3, 3, 3, 0 if behind else 3),
            look_again=timedelta(seconds=5) if behind else None,
            because="it is upgraded",
        )

    async def release(self, order: ControlPlaneOrder[PaperControlPlane]) -> Released | Waiting:
        self.looks.pop(order.key.name, None)
        return Released()

    def for_v1beta1(self, reported: Sequence[Condition]) -> Sequence[V1Beta1Condition]:
        return in_v1beta1(reported)
