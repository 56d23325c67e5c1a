"""A ClusterClass of a provider that nobody knows, and a cluster made of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kapy.api.cluster import Cluster
from kapy.api.cluster_class import ClusterClass
from kapy.api.machine import MachineTemplateSpec
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_pool import MachinePool
from kapy.api.names import Label
from kapy.contract.fields import CURRENT, Version
from kapy.kube import Document
from kapy.kube.meta import Object, read
from kapy.kube.model import encode
from kapy.kube.patch.merge_patch import apply
from kapy.kube.yaml import load
from kapy.testing.frozen import freeze
from kapy.topology.blueprint import Blueprint, ControlPlaneBlueprint, WorkersBlueprint
from kapy.topology.desired import desired_state
from kapy.topology.hook_cache import HookCache
from kapy.topology.hook_calls import HookCalls
from kapy.topology.hooks import LifecycleHooks
from kapy.topology.state import ClusterState
from kapy.topology.upgrade_tracker import UpgradeTracker

_CLUSTER = """
metadata:
  name: c
  namespace: ns
  uid: uid-of-c
spec:
  topology:
    classRef: {name: klass}
    version: v1.34.0
    controlPlane: {replicas: 3}
    workers:
      machineDeployments:
      - {class: small, name: md, replicas: 2}
      machinePools:
      - {class: pool, name: mp, replicas: 4}
"""
_CLASS = """
metadata: {name: klass, namespace: classes}
spec:
  infrastructure:
    templateRef: {kind: ThingClusterTemplate, name: infra, apiVersion: infra.io/v1}
  controlPlane:
    templateRef: {kind: ThingPlaneTemplate, name: plane, apiVersion: plane.io/v1}
    machineInfrastructure:
      templateRef: {kind: ThingMachineTemplate, name: cp, apiVersion: infra.io/v1}
  workers:
    machineDeployments:
    - class: small
      bootstrap: {templateRef: {kind: BootTemplate, name: boot, apiVersion: boot.io/v1}}
      infrastructure:
        templateRef: {kind: ThingMachineTemplate, name: small, apiVersion: infra.io/v1}
    machinePools:
    - class: pool
      bootstrap: {templateRef: {kind: BootTemplate, name: boot, apiVersion: boot.io/v1}}
      infrastructure:
        templateRef: {kind: ThingPoolTemplate, name: pool, apiVersion: infra.io/v1}
"""

OWNED = {"cluster.x-k8s.io/cluster-name": "c", "topology.cluster.x-k8s.io/owned": ""}
OF_MD = {**OWNED, "topology.cluster.x-k8s.io/deployment-name": "md"}
OF_MP = {**OWNED, "topology.cluster.x-k8s.io/pool-name": "mp"}
OWNER = [
    {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "c", "uid": "uid-of-c"}
]


def cluster(change: Document | None = None) -> Cluster:
    """The Cluster, with a merge patch."""
    return read(apply(load(_CLUSTER), change or {}), Cluster)


def cluster_class(change: Document | None = None) -> ClusterClass:
    """The ClusterClass, with a merge patch."""
    return read(apply(load(_CLASS), change or {}), ClusterClass)


def template(kind: str, name: str, spec: Document | None = None) -> Document:
    """A template of the class; whoever changes it in place fails."""
    group = {"BootTemplate": "boot.io", "ThingPlaneTemplate": "plane.io"}.get(kind, "infra.io")
    frozen: Document = freeze(
        {
            "apiVersion": f"{group}/v1",
            "kind": kind,
            "metadata": {
                "name": name,
                "namespace": "classes",
                "uid": f"uid-of-{name}",
                "resourceVersion": "7",
                "finalizers": ["keep.io/me"],
                "labels": {"team": "blue"},
                "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"},
            },
            "spec": {"template": {"spec": spec or {}}},
        }
    )
    return frozen


def blueprint(
    of: Cluster,
    change: Document | None = None,
    *,
    plane: Document | None = None,
    contract: Version = CURRENT,
) -> Blueprint:
    """Return the blueprint of a Cluster. change: of the class. plane: the plane template's spec."""
    result, topology = cluster_class(change), of.spec.topology
    assert topology is not None
    has_machines = result.spec.control_plane.machine_infrastructure is not None
    boot = template("BootTemplate", "boot", {"files": ["a"]})
    return Blueprint(
        topology=topology,
        cluster_class=result,
        infrastructure_cluster_template=template("ThingClusterTemplate", "infra", {"net": "x"}),
        control_plane=ControlPlaneBlueprint(
            template("ThingPlaneTemplate", "plane", plane),
            template("ThingMachineTemplate", "cp") if has_machines else None,
            contract,
        ),
        machine_deployments={
            "small": WorkersBlueprint(boot, template("ThingMachineTemplate", "m"))
        },
        machine_pools={"pool": WorkersBlueprint(boot, template("ThingPoolTemplate", "pool"))},
    )


def topology(**parts: Any) -> Document:
    return {"spec": {"topology": parts}}


def deployment(**said: Any) -> Document:
    """A change of the topology's MachineDeployment."""
    document = {"class": "small", "name": "md", "replicas": 2, **said}
    return topology(workers={"machineDeployments": [document]})


def pool(**said: Any) -> Document:
    """A change of the topology's MachinePool."""
    document = {"class": "pool", "name": "mp", "replicas": 4, **said}
    return topology(workers={"machinePools": [document]})


def deployment_class(**said: Any) -> Document:
    """A change of the class of MachineDeployments."""
    document = encode(cluster_class().spec.workers.machine_deployments[0])
    return {"spec": {"workers": {"machineDeployments": [{**document, **said}]}}}


def pool_class(**said: Any) -> Document:
    """A change of the class of MachinePools."""
    document = encode(cluster_class().spec.workers.machine_pools[0])
    return {"spec": {"workers": {"machinePools": [{**document, **said}]}}}


class Asked:
    """A desired state, and what was found out on the way.

    written: values of the annotation of hooks that are owed, in the order of their writes.
    """

    def __init__(
        self,
        current: ClusterState,
        hooks: LifecycleHooks | None = None,
        memory: HookCache | None = None,
    ) -> None:
        self.current = current
        self.upgrades = UpgradeTracker.of(current.cluster)
        self.written: list[str] = []
        self.calls = HookCalls(current.cluster, hooks, memory or HookCache(), self._write)

    async def _write(self, annotation: str) -> None:
        self.written.append(annotation)

    async def state(self, of: Blueprint) -> ClusterState:
        return await desired_state(of, self.current, self.upgrades, self.calls)


async def made(
    change: Document | None = None, of_class: Document | None = None, **more: Any
) -> ClusterState:
    """The desired state of a Cluster of which nothing is there yet; changes as merge patches."""
    wanted = cluster(change)
    return await Asked(ClusterState(wanted)).state(blueprint(wanted, of_class, **more))


def settled(desired: ClusterState, **versions: str) -> ClusterState:
    """A desired state as if it had been written and reached; what is there cannot be changed.

    versions: other ones, of `plane` (and what is `running` of it, "" for nothing), and of groups of
    workers by their names.
    """
    plane = desired.control_plane.object
    assert plane is not None
    wanted = versions.get("plane", plane["spec"]["version"])
    running = versions.get("running", wanted) or None
    changed = {"spec": {"version": wanted}, "status": {"version": running}}
    desired.control_plane.object = freeze(apply(plane, changed))
    for md in desired.machine_deployments.values():
        _settle(md.object, md.object.spec.template, versions)
    for mp in desired.machine_pools.values():
        _settle(mp.object, mp.object.spec.template, versions)
    return desired


def _settle(group: Object, template: MachineTemplateSpec, versions: Mapping[str, str]) -> None:
    labels = group.metadata.labels
    name = labels.get(Label.TOPOLOGY_DEPLOYMENT_NAME) or labels[Label.TOPOLOGY_POOL_NAME]
    template.spec.version = versions.get(name, template.spec.version)


def versions(state: ClusterState) -> dict[str, str]:
    """The versions of the control plane (`plane`) and of groups of workers by their names."""
    plane = state.control_plane.object
    assert plane is not None
    document = {"plane": plane["spec"]["version"]}
    for name, md in state.machine_deployments.items():
        document[name] = md.object.spec.template.spec.version
    for name, mp in state.machine_pools.items():
        document[name] = mp.object.spec.template.spec.version
    return document


async def the_deployment(*changes: Document | None) -> MachineDeployment:
    return (await made(*changes)).machine_deployments["md"].object


async def the_pool(*changes: Document | None) -> MachinePool:
    return (await made(*changes)).machine_pools["mp"].object


async def the_plane(*changes: Document | None, **more: Any) -> Document:
    plane = (await made(*changes, **more)).control_plane.object
    assert plane is not None
    return plane


def at(document: Any, path: str) -> Any:
    """Return the value at a path with dots."""
    for part in path.split("."):
        document = (document or {}).get(part)
    return document
