"""A control plane provider in a page: Machines that start with kapy's kubeadm boot data."""

from __future__ import annotations

from typing import ClassVar, Final

from msgspec import field

from kapy.engine.runtime import Runtime
from kapy.kube import Document
from kapy.kube.meta import Object
from kapy.kube.names import Resource
from kapy.sdk import ControlPlaneStatus, Provider, resource
from kapy.sdk.certificates import ClusterCertificate
from kapy.sdk.machine_control_plane import (
    ControlPlaneObserved,
    MachineBasedControlPlaneSpec,
    MachineControlPlaneContext,
    MachineControlPlaneProvider,
    add_machine_based_control_plane,
)

GROUP: Final = "controlplane.cluster.x-k8s.io"


class PageControlPlane(Object, kw_only=True):
    """A control plane in a page."""

    RESOURCE: ClassVar[Resource] = resource(GROUP, "v1alpha1", "PageControlPlane")

    spec: MachineBasedControlPlaneSpec
    status: ControlPlaneStatus = field(default_factory=ControlPlaneStatus)


class PageOfKubeadm(MachineControlPlaneProvider[PageControlPlane]):
    """Takes requests when its first Machine has a Node."""

    algorithm = "ECDSA-P256"
    certificates = tuple(
        ClusterCertificate(purpose, algorithm="ECDSA-P256")
        for purpose in ("ca", "etcd", "proxy", "sa")
    )

    async def bootstrap_config(
        self, context: MachineControlPlaneContext[PageControlPlane], *, first: bool
    ) -> Document:
        joins: Document = {"joinConfiguration": {"controlPlane": {}}}
        begins: Document = {"clusterConfiguration": {"encryptionAlgorithm": "ECDSA-P256"}}
        spec = begins if first else joins
        version = "bootstrap.cluster.x-k8s.io/v1beta2"
        return {"apiVersion": version, "kind": "KubeadmConfig", "spec": spec}

    async def observe(
        self, context: MachineControlPlaneContext[PageControlPlane]
    ) -> ControlPlaneObserved:
        ready = any(machine.status.node_ref is not None for machine in context.machines)
        return ControlPlaneObserved(initialized=ready)


def add_to(runtime: Runtime) -> None:
    add_machine_based_control_plane(
        runtime, PageControlPlane, PageOfKubeadm(), finalizer="page.example.dev/plane"
    )


PROVIDER: Final = Provider(
    name="page",
    type="control-plane",
    kinds=(PageControlPlane,),
    add_to=add_to,
    image="registry.example.com/page/provider",
)
