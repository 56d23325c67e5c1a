"""A control plane provider in a page: Machines that start with kapy's kubeadm boot data."""

from __future__ import annotations

from typing import ClassVar, Final

from msgspec import field

from kapy.engine.runtime import Runtime
from kapy.kube import Document
from kapy.kube.meta import Object
from kapy.kube.names import Resource
from kapy.sdk import (
    ClusterCertificate,
    ControlPlaneOfMachinesSpec,
    ControlPlaneSeen,
    ControlPlaneStatus,
    MachineControlPlaneProvider,
    MachinesOrder,
    Provider,
    add_control_plane_of_machines,
    resource,
)

GROUP: Final = "controlplane.cluster.x-k8s.io"


class PageControlPlane(Object, kw_only=True):
    """A control plane in a page."""

    RESOURCE: ClassVar[Resource] = resource(GROUP, "v1alpha1", "PageControlPlane")

    spec: ControlPlaneOfMachinesSpec
    status: ControlPlaneStatus = field(default_factory=ControlPlaneStatus)


class PageOfKubeadm(MachineControlPlaneProvider[PageControlPlane]):
    """Takes requests when its first Machine has a Node."""

    algorithm = "ECDSA-P256"
    certificates = tuple(
        ClusterCertificate(purpose, algorithm="ECDSA-P256")
        for purpose in ("ca", "etcd", "proxy", "sa")
    )

    async def bootstrap(self, order: MachinesOrder[PageControlPlane], *, first: bool) -> Document:
        joins: Document = {"joinConfiguration": {"controlPlane": {}}}
        begins: Document = {"clusterConfiguration": {"encryptionAlgorithm": "ECDSA-P256"}}
        spec = begins if first else joins
        version = "bootstrap.cluster.x-k8s.io/v1beta2"
        return {"apiVersion": version, "kind": "KubeadmConfig", "spec": spec}

    async def observe(self, order: MachinesOrder[PageControlPlane]) -> ControlPlaneSeen:
        ready = any(one.status.node_ref is not None for one in order.machines)
        return ControlPlaneSeen(initialized=ready)


def add_to(runtime: Runtime) -> None:
    add_control_plane_of_machines(
        runtime, PageControlPlane, PageOfKubeadm(), finalizer="page.example.dev/plane"
    )


PROVIDER: Final = Provider(
    name="page",
    type="control-plane",
    kinds=(PageControlPlane,),
    add_to=add_to,
    image="registry.example.com/page/provider",
)
