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
    ControlPlaneContext,
    ControlPlaneProvider,
    ControlPlaneProvisioned,
    Endpoint,
    Released,
    Replicas,
    Waiting,
    in_v1beta1,
)
from kapy.sdk.certificates import ClusterCertificate

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

    async def reconcile_normal(
        self, context: ControlPlaneContext[PaperControlPlane]
    ) -> ControlPlaneProvisioned | Waiting:
        name = context.key.name
        self.looks[name] = self.looks.get(name, 0) + 1
        if self.looks[name] < 3:
            return Waiting(message="drawing it", requeue_after=timedelta(seconds=2))
        await context.keys.ensure(ClusterCertificate("ca", algorithm="ECDSA-P256"))
        running = self.versions.setdefault(name, context.version)
        self.versions[name] = context.version
        behind = running != context.version
        return ControlPlaneProvisioned(
            endpoint=Endpoint(f"{context.cluster.name}.paper", 6443),
            version=running,
            replicas=Replicas(3, 3, 3, 0 if behind else 3),
            requeue_after=timedelta(seconds=5) if behind else None,
            requeue_reason="it is upgraded",
        )

    async def reconcile_delete(
        self, context: ControlPlaneContext[PaperControlPlane]
    ) -> Released | Waiting:
        self.looks.pop(context.key.name, None)
        return Released()

    def for_v1beta1(self, reported: Sequence[Condition]) -> Sequence[V1Beta1Condition]:
        return in_v1beta1(reported)
