"""Control plane providers that are not kubeadm's, as others write them with `kapy.sdk`.

`STACKS` has Machines, whose etcd members leave before their shutdown. `SERVICES` has none: a
service runs the API server, and outlives the provider's processes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any, ClassVar, Final, NamedTuple, Protocol

from msgspec import field

from kapy.api.machine import Machine
from kapy.apps.provider.definitions import crds_of
from kapy.client.client import Client
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.meta import Object
from kapy.kube.names import CRDS, Resource
from kapy.providers.inmemory import InMemoryClusters
from kapy.providers.inmemory.workload.kubeadm import Settings
from kapy.remote.secrets import CLUSTER_CA
from kapy.sdk import (
    ControlPlaneContext,
    ControlPlaneProvider,
    ControlPlaneProvisioned,
    ControlPlaneSpec,
    ControlPlaneStatus,
    Provider,
    Released,
    Waiting,
    add_control_plane,
    resource,
)
from kapy.sdk.certificates import ClusterCertificate
from kapy.sdk.machine_control_plane import (
    ControlPlaneObserved,
    MachineBasedControlPlaneSpec,
    MachineControlPlaneContext,
    MachineControlPlaneProvider,
    add_machine_based_control_plane,
)
from kapy.testing.simulation.etcd import DurableEtcd

FOREIGN: Final = "foreign"
"""The name of the control plane provider's manager in points."""
KUBEADM: Final = "KubeadmControlPlane"
GROUP: Final = "controlplane.cluster.x-k8s.io"
ALGORITHM: Final = "ECDSA-P256"
START: Final = timedelta(seconds=3)
UPGRADE: Final = timedelta(seconds=5)
REQUEST: Final = 0.05
"""Seconds that a request to the service takes."""
_MACHINE_FIELDS: Final = ("replicas", "version", "machineTemplate")


class MeadowStack(Object, kw_only=True):
    """A control plane kind of the scenarios' foreign provider, which runs on Machines."""

    RESOURCE: ClassVar[Resource] = resource(GROUP, "v1alpha1", "MeadowStack")

    spec: MachineBasedControlPlaneSpec
    status: ControlPlaneStatus = field(default_factory=ControlPlaneStatus)


class MeadowService(Object, kw_only=True):
    """A control plane kind of the scenarios' foreign provider: a service without Machines."""

    RESOURCE: ClassVar[Resource] = resource(GROUP, "v1alpha1", "MeadowService")

    spec: ControlPlaneSpec = field(default_factory=ControlPlaneSpec)
    status: ControlPlaneStatus = field(default_factory=ControlPlaneStatus)


class Stacks(MachineControlPlaneProvider[MeadowStack]):
    """A control plane provider with Machines that use kubeadm's boot data. An agent on the Machines
    removes their etcd members.
    """

    algorithm = ALGORITHM
    certificates = tuple(
        ClusterCertificate(purpose, algorithm=ALGORITHM)
        for purpose in ("ca", "etcd", "proxy", "sa")
    )

    def __init__(self, cloud: InMemoryClusters) -> None:
        self._cloud = cloud

    async def bootstrap_config(
        self, context: MachineControlPlaneContext[MeadowStack], *, first: bool
    ) -> Document:
        del context
        spec: Document = {"joinConfiguration": {"controlPlane": {}}}
        if first:
            spec = {"clusterConfiguration": {"encryptionAlgorithm": ALGORITHM}}
        version = "bootstrap.cluster.x-k8s.io/v1beta2"
        return {"apiVersion": version, "kind": "KubeadmConfig", "spec": spec}

    async def observe(
        self, context: MachineControlPlaneContext[MeadowStack]
    ) -> ControlPlaneObserved:
        ready = any(machine.status.node_ref is not None for machine in context.machines)
        return ControlPlaneObserved(initialized=ready)

    async def prepare_shutdown(
        self, context: MachineControlPlaneContext[MeadowStack], machine: Machine
    ) -> Released | Waiting:
        await asyncio.sleep(REQUEST)
        workload, node = self._cloud.get(context.cluster), machine.status.node_ref
        if workload is not None and node is not None and isinstance(workload.etcd, DurableEtcd):
            workload.etcd.remove_member(node.name)
        return Released()


class _Running(NamedTuple):
    """A control plane that the service runs. uid: that of its object. until: the time when its
    last change is complete."""

    uid: str
    name: str
    version: str
    until: datetime
    serves: str


class Services(ControlPlaneProvider[MeadowService]):
    """A control plane provider without Machines, backed by a simulated service. The service starts
    an API server in three seconds, and upgrades it in five. Its requests are idempotent. running:
    the control planes by namespace and name. A new object of the same name, as after a restore
    that lost the former one, gets a new control plane in place of the former one's."""

    algorithm = ALGORITHM
    provides_endpoint = False

    def __init__(self, cloud: InMemoryClusters) -> None:
        self._cloud = cloud
        self.running: dict[Key, _Running] = {}

    async def reconcile_normal(
        self, context: ControlPlaneContext[MeadowService]
    ) -> ControlPlaneProvisioned | Waiting:
        keys = await context.keys.ensure(ClusterCertificate(CLUSTER_CA, algorithm=ALGORITHM))
        await asyncio.sleep(REQUEST)
        workload = self._cloud.get(context.cluster)
        if workload is None or context.owner is None:
            return Waiting(message="the network of the cluster", requeue_after=START)
        now = self._cloud.clock()
        plane = self._ask(context, now)
        if plane.until <= now and plane.serves != plane.version:
            authority = keys[CLUSTER_CA]
            settings = Settings.of(
                context.owner, plane.version, workload.url, authority.certificate
            )
            workload.serve(plane.name, plane.version, authority, settings)
            workload.register(plane.name)
            plane = self.running[context.key] = plane._replace(serves=plane.version)
        if not plane.serves:
            return Waiting(message="the service starts it", requeue_after=plane.until - now)
        return ControlPlaneProvisioned(
            version=plane.serves,
            requeue_after=plane.until - now if plane.until > now else None,
            requeue_reason="the service upgrades it",
        )

    def _ask(self, context: ControlPlaneContext[MeadowService], now: datetime) -> _Running:
        """Request a version from the service; return the state of the control plane."""
        plane = self.running.get(context.key)
        if plane is None or plane.uid != context.uid:
            plane = _Running(context.uid, context.key.name, context.version, now + START, "")
        elif plane.version != context.version:
            plane = plane._replace(version=context.version, until=now + UPGRADE)
        self.running[context.key] = plane
        return plane

    async def reconcile_delete(
        self, context: ControlPlaneContext[MeadowService]
    ) -> Released | Waiting:
        await asyncio.sleep(REQUEST)
        if (plane := self.running.pop(context.key, None)) is not None:
            workload = self._cloud.get(context.cluster)
            if workload is not None:
                workload.remove(plane.name)
        return Released()

    def inventory(self) -> Iterable[str]:
        """Return the names of the running control planes."""
        return [plane.name for plane in self.running.values()]

    def lines(self) -> Iterable[str]:
        """Return the running control planes with their versions, as text lines."""
        now = self._cloud.clock()
        return [
            f"{plane.name} {plane.version} {plane.serves} {plane.until > now}"
            for plane in self.running.values()
        ]


class AddedProvider(Protocol):
    """The provider of one run, which outlives its processes."""

    def add_to(self, runtime: Runtime) -> Mapping[str, Any] | None:
        """Add the provider's controller to a new process."""
        ...

    def inventory(self) -> Iterable[str]:
        """Return the names of the existing resources in the provider's cloud."""
        ...

    def lines(self) -> Iterable[str]:
        """Return the state of the provider's cloud as text lines."""
        ...


class StackProvider:
    """The provider of control planes of Machines in one run."""

    def __init__(self, cloud: InMemoryClusters) -> None:
        self._stacks = Stacks(cloud)

    def add_to(self, runtime: Runtime) -> None:
        """Add the provider's controller to a new process."""
        add_machine_based_control_plane(
            runtime, MeadowStack, self._stacks, finalizer="meadow.example.com/stack"
        )

    def inventory(self) -> Iterable[str]:
        """Return nothing: the machines of this provider belong to the infrastructure."""
        return ()

    def lines(self) -> Iterable[str]:
        """Return nothing: the machines of this provider belong to the infrastructure."""
        return ()


class ServiceProvider:
    """The provider of control planes without Machines in one run."""

    def __init__(self, cloud: InMemoryClusters) -> None:
        self._services = Services(cloud)

    def add_to(self, runtime: Runtime) -> None:
        """Add the provider's controller to a new process."""
        add_control_plane(
            runtime, MeadowService, self._services, finalizer="meadow.example.com/service"
        )

    def inventory(self) -> Iterable[str]:
        """Return the names of the running control planes."""
        return self._services.inventory()

    def lines(self) -> Iterable[str]:
        """Return the running control planes with their versions, as text lines."""
        return self._services.lines()


@dataclass(frozen=True, eq=False)
class ForeignControlPlane:
    """A control plane provider that takes the place of kubeadm's. new: returns the provider of a
    new run. fields: the fields that its spec shares with the spec of a KubeadmControlPlane."""

    kind: type[Object]
    new: Callable[[InMemoryClusters], AddedProvider]
    fields: Sequence[str]

    @property
    def resources(self) -> Mapping[str, Resource]:
        """The resource of its kind, by the kind whose place it takes."""
        return {KUBEADM: self.kind.RESOURCE}

    async def install(self, client: Client) -> None:
        """Install the CRD of the provider's kind."""
        for crd in _definitions(self.kind):
            await client.create(CRDS, crd)

    def in_place_of_kubeadm(self, documents: Sequence[Document]) -> list[Document]:
        """Return manifests with the kind of this provider instead of KubeadmControlPlane."""
        return [self._replace(document) for document in documents]

    def _replace(self, document: Document) -> Document:
        kind, spec = self.kind.RESOURCE, document.get("spec") or {}
        if document["kind"] == KUBEADM:
            fields = {name: spec[name] for name in self.fields}
            return {**document, "apiVersion": kind.api_version, "kind": kind.kind, "spec": fields}
        if document["kind"] == "Cluster" and "controlPlaneRef" in spec:
            reference = {**spec["controlPlaneRef"], "kind": kind.kind}
            return {**document, "spec": {**spec, "controlPlaneRef": reference}}
        return document


@cache
def _definitions(kind: type[Object]) -> Sequence[Document]:
    provider = Provider(
        name="meadow",
        type="control-plane",
        kinds=(kind,),
        add_to=lambda _: None,
        image="registry.example.com/meadow/provider",
    )
    return crds_of(provider)


STACKS: Final = ForeignControlPlane(MeadowStack, StackProvider, _MACHINE_FIELDS)
SERVICES: Final = ForeignControlPlane(MeadowService, ServiceProvider, ("version",))
