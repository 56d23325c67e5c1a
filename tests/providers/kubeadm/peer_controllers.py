"""The peers that move what other controllers would: core's Machines, their infrastructure, and the
workload cluster that kubeadm would make."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from kapy.api.cluster import Cluster
from kapy.api.dev_machine import DevMachine, DevMachineTemplate
from kapy.api.kubeadm_config import KubeadmConfig
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine import Machine
from kapy.api.machines import is_update_pending
from kapy.api.names import Annotation
from kapy.api.times import stamp
from kapy.kube import Document, Key
from kapy.kube.errors import AlreadyExists, KapyError, NotFound
from kapy.kube.names import CONFIG_MAPS, NODES, PODS
from kapy.providers.kubeadm.bootstrap.controller import add_to as add_bootstrap
from kapy.providers.kubeadm.controlplane.controller import add_to as add_control_plane
from kapy.remote.cluster_cache import Kubeconfig
from tests.providers.kubeadm.fake_etcd import FakeEtcd
from tests.providers.kubeadm.plane import Plane

CLUSTER, CONTROL_PLANE = Key("default", "c1"), Key("default", "c1-control-plane")
EXPIRY = datetime(2027, 3, 4, 5, 6, 7, tzinfo=UTC)
COMPONENTS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd")
_REF = {
    "apiGroup": "controlplane.cluster.x-k8s.io",
    "kind": "KubeadmControlPlane",
    "name": CONTROL_PLANE.name,
}
ROLE = "node-role.kubernetes.io/control-plane"


@dataclass
class Updates:
    """An extension that may update Machines. left: what it leaves over of a change; fails: why it
    cannot be asked; lasts: no update ends; about: the Machines that it was asked about."""

    left: list[str] = field(default_factory=lambda: ["nobody updates Machines"])
    fails: str = ""
    lasts: bool = False
    about: list[str] = field(default_factory=list)

    async def can_update_machine(self, _: Key, current: Document, __: Document) -> list[str]:
        if self.fails:
            raise KapyError(self.fails)
        self.about.append(current["machine"]["metadata"]["name"])
        return self.left


@dataclass
class PeerControllers:
    """One cluster c1 with a control plane c1-control-plane.

    hold_new: new Machines do not boot. hold_old: the Nodes of deleted Machines are still drained.
    outlived: Machines that went while etcd still had their members.
    """

    plane: Plane
    etcd: FakeEtcd = field(default_factory=FakeEtcd)
    updates: Updates = field(default_factory=Updates)
    hold_new: bool = False
    hold_old: bool = False
    pace: float = 0.1
    asked: list[str] = field(default_factory=list)
    outlived: list[str] = field(default_factory=list)

    async def start(
        self,
        *,
        replicas: int = 1,
        provisioned: bool = True,
        failure_domains: Sequence[Document] = (),
        **spec: Any,
    ) -> None:
        """Create the cluster, its infrastructure ready or not, and its control plane.

        spec: laid over that of the control plane; None leaves a field out.
        """
        await self.start_cluster(provisioned=provisioned, failure_domains=failure_domains)
        await self.take_charge(replicas=replicas, **spec)

    async def start_cluster(
        self, *, provisioned: bool = True, failure_domains: Sequence[Document] = ()
    ) -> None:
        """Create the cluster without a control plane."""
        client = self.plane.client
        await client.create(Cluster.RESOURCE, _cluster())
        status: Document = {"initialization": {"infrastructureProvisioned": provisioned}}
        if failure_domains:
            status["failureDomains"] = list(failure_domains)
        await client.patch(Cluster.RESOURCE, CLUSTER, {"status": status}, subresource="status")
        await client.create(DevMachineTemplate.RESOURCE, template("small"))

    async def take_charge(self, *, replicas: int = 1, **spec: Any) -> None:
        """Give the cluster its control plane."""
        client = self.plane.client
        cluster = await client.patch(Cluster.RESOURCE, CLUSTER, {"spec": {"controlPlaneRef": _REF}})
        owner = {
            "apiVersion": cluster["apiVersion"],
            "kind": cluster["kind"],
            "name": cluster["metadata"]["name"],
            "uid": cluster["metadata"]["uid"],
        }
        control_plane = _control_plane(owner, replicas)
        whole = control_plane["spec"] | spec
        control_plane["spec"] = {name: value for name, value in whole.items() if value is not None}
        await client.create(KubeadmControlPlane.RESOURCE, control_plane)

    async def work(self) -> None:
        """Do, again and again, what the other controllers would do."""
        while True:
            for machine in (await self.plane.client.list(Machine)).items:
                await self._move(machine)
            await self._mirror_initialized()
            await asyncio.sleep(self.pace)

    async def machines(self) -> list[Machine]:
        """The Machines by age."""
        results = (await self.plane.client.list(Machine)).items
        return sorted(results, key=lambda machine: str(machine.metadata.creation_timestamp))

    async def control_plane(self) -> KubeadmControlPlane:
        """The control plane as the server has it."""
        return await self.plane.client.get(KubeadmControlPlane, CONTROL_PLANE)

    async def report(self, key: Key, *conditions: Document, **status: Any) -> None:
        """A Machine says something new of itself."""
        now = stamp(self.plane.clock())
        machine = await self.plane.client.get(Machine.RESOURCE, key)
        entries = {
            condition["type"]: condition
            for condition in (machine.get("status") or {}).get("conditions") or ()
        }
        entries |= {
            condition["type"]: {**condition, "lastTransitionTime": now} for condition in conditions
        }
        patch = {"status": {"conditions": list(entries.values()), **status}}
        await self.plane.client.patch(Machine.RESOURCE, key, patch, subresource="status")

    async def certificate_expiry(self, _: Kubeconfig, node: str) -> datetime:
        """Record the node, and return the expiry of its API server's certificate."""
        self.asked.append(node)
        return EXPIRY

    async def find_unhealthy(self, name: str) -> None:
        """A health check finds a Machine unhealthy, and leaves it to its owner."""
        await self.report(
            Key("default", name),
            _condition("HealthCheckSucceeded", "False", "UnhealthyNode"),
            _condition("OwnerRemediated", "False", "WaitingForRemediation"),
        )

    async def find_healthy(self, name: str) -> None:
        """The health check finds it well again."""
        await self.report(Key("default", name), _condition("HealthCheckSucceeded", "True"))

    async def _mirror_initialized(self) -> None:
        try:
            kcp = await self.control_plane()
            cluster = await self.plane.client.get(Cluster, CLUSTER)
        except NotFound:
            return
        if not kcp.status.initialization.control_plane_initialized or cluster.status.conditions:
            return
        now = stamp(self.plane.clock())
        condition = {**_condition("ControlPlaneInitialized", "True"), "lastTransitionTime": now}
        status = {
            "initialization": {"controlPlaneInitialized": True},
            "conditions": [condition],
        }
        await self.plane.client.patch(
            Cluster.RESOURCE, CLUSTER, {"status": status}, subresource="status"
        )

    async def _move(self, machine: Machine) -> None:
        if "cluster.x-k8s.io/control-plane" not in machine.metadata.labels:
            return
        if machine.deleting:
            await self._delete(machine)
        elif "machine.cluster.x-k8s.io" not in machine.metadata.finalizers:
            await self._adopt(machine)
        elif machine.status.node_ref is None and not self.hold_new:
            await self._boot(machine)
        elif is_update_pending(machine.metadata.annotations) and not self.updates.lasts:
            marks = dict.fromkeys((Annotation.UPDATE_IN_PROGRESS, Annotation.PENDING_HOOKS))
            patch = {"metadata": {"annotations": marks}}
            await self.plane.client.patch(Machine.RESOURCE, machine.key, patch)

    async def _adopt(self, machine: Machine) -> None:
        """Core puts its finalizer on and takes over the KubeadmConfig."""
        client, key = self.plane.client, machine.key
        finalizers = {"metadata": {"finalizers": ["machine.cluster.x-k8s.io"]}}
        await client.patch(Machine.RESOURCE, key, finalizers)
        owner = {
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "Machine",
            "name": key.name,
            "uid": machine.metadata.uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }
        for kind in (KubeadmConfig, DevMachine):
            patch = {"metadata": {"ownerReferences": [owner]}}
            await client.patch(kind.RESOURCE, key, patch)

    async def _boot(self, machine: Machine) -> None:
        """The machine boots when its data is there, and runs kubeadm."""
        client, key = self.plane.client, machine.key
        config = await client.get(KubeadmConfig, key)
        if not config.status.data_secret_name:
            return
        provider_id = f"fake://{key.name}"
        spec = {
            "providerID": provider_id,
            "bootstrap": {"dataSecretName": config.status.data_secret_name},
        }
        await client.patch(Machine.RESOURCE, key, {"spec": spec})
        await self._run_kubeadm(machine, provider_id)
        await self.report(
            key,
            _condition("Ready", "True"),
            _condition("Available", "True"),
            nodeRef={"name": key.name},
            nodeInfo=_node_info(machine.spec.version),
        )

    async def _run_kubeadm(self, machine: Machine, provider_id: str) -> None:
        workload, name = self.plane.workload, machine.metadata.name
        config = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "kubeadm-config", "namespace": "kube-system"},
            "data": {"ClusterConfiguration": ""},
        }
        self.plane.reachable = True
        self.etcd.join(name)
        for resource, document in (
            (CONFIG_MAPS, config),
            (NODES, _node(name, provider_id)),
            *((PODS, static_pod(component, name)) for component in COMPONENTS),
        ):
            try:
                await workload.create(resource, document)
            except AlreadyExists:
                continue
            status = document.get("status")
            if status:
                key = Key(document["metadata"].get("namespace", ""), document["metadata"]["name"])
                await workload.patch(resource, key, {"status": status}, subresource="status")

    async def _delete(self, machine: Machine) -> None:
        """Core drains the node, waits for our hook, and takes the rest away."""
        if self.hold_old:
            return
        client, key = self.plane.client, machine.key
        hooks = [
            annotation
            for annotation in machine.metadata.annotations
            if annotation.startswith("pre-terminate")
        ]
        if hooks:
            if all(condition.type != "Deleting" for condition in machine.status.conditions):
                waiting = _condition("Deleting", "True", "WaitingForPreTerminateHook")
                await self.report(key, waiting)
            return
        if key.name in self.etcd.members:
            self.outlived.append(key.name)
        for kind in (DevMachine, KubeadmConfig):
            await client.delete(kind, key)
        for resource, removals in (
            (NODES, Key("", key.name)),
            *((PODS, Key("kube-system", f"{component}-{key.name}")) for component in COMPONENTS),
        ):
            try:
                await self.plane.workload.delete(resource, removals)
            except NotFound:
                continue
        await client.patch(Machine.RESOURCE, key, {"metadata": {"finalizers": None}})


def controllers(peers: list[PeerControllers]) -> Callable[[Plane], None]:
    """Return a function that adds both providers to a plane, with the etcd of these peers."""

    def add(plane: Plane) -> None:
        result = PeerControllers(plane)
        peers.append(result)
        plane.reachable = False
        add_bootstrap(plane.runtime, plane.remote)
        add_control_plane(
            plane.runtime,
            plane.remote,
            etcd_dial=result.etcd.dial,
            certificate_expiry=result.certificate_expiry,
            updates=result.updates,
        )

    return add


def _condition(type_: str, status: str, reason: str = "") -> Document:
    return {"type": type_, "status": status, "reason": reason or type_, "message": ""}


def _cluster() -> Document:
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Cluster",
        "metadata": {"name": CLUSTER.name, "namespace": CLUSTER.namespace},
        "spec": {"controlPlaneEndpoint": {"host": "10.0.0.1", "port": 6443}},
    }


def template(name: str) -> Document:
    """An infrastructure template."""
    return {
        "apiVersion": DevMachineTemplate.RESOURCE.api_version,
        "kind": "DevMachineTemplate",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"template": {"spec": {"backend": {"inMemory": {}}}}},
    }


def _control_plane(owner: Document, replicas: int) -> Document:
    return {
        "apiVersion": KubeadmControlPlane.RESOURCE.api_version,
        "kind": "KubeadmControlPlane",
        "metadata": {
            "name": CONTROL_PLANE.name,
            "namespace": CONTROL_PLANE.namespace,
            "ownerReferences": [owner],
        },
        "spec": {
            "replicas": replicas,
            "version": "v1.34.0",
            "machineTemplate": {
                "spec": {
                    "infrastructureRef": {
                        "apiGroup": DevMachineTemplate.RESOURCE.group,
                        "kind": "DevMachineTemplate",
                        "name": "small",
                    }
                }
            },
            "kubeadmConfigSpec": {"clusterConfiguration": {"encryptionAlgorithm": "ECDSA-P256"}},
            "rollout": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}},
        },
    }


def _node(name: str, provider_id: str) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {ROLE: ""}},
        "spec": {
            "providerID": provider_id,
            "taints": [{"key": ROLE, "effect": "NoSchedule"}],
        },
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }


def static_pod(component: str, node: str) -> Document:
    """One component of a control plane, as kubeadm has the kubelet run it."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{component}-{node}",
            "namespace": "kube-system",
            "labels": {"component": component, "tier": "control-plane"},
        },
        "spec": {"nodeName": node, "containers": [{"name": component, "image": component}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }


def _node_info(version: str) -> Document:
    fields = (
        "architecture",
        "bootID",
        "containerRuntimeVersion",
        "kernelVersion",
        "kubeProxyVersion",
        "machineID",
        "operatingSystem",
        "osImage",
        "systemUUID",
    )
    return {**dict.fromkeys(fields, ""), "kubeletVersion": version}
