"""What a ClusterClass costs: the desired state of a cluster of upstream's quick-start class."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Final

from benchmarks.measure import percentile

Row = dict[str, Any]
RUNS: Final = 300
GROUPS: Final = 100
FILE: Final = (
    Path(__file__).resolve().parents[2]
    / "shared/upstream/providers/infrastructure-docker/v1.14.0/clusterclass-quick-start.yaml"
)
_EVERYTHING: Final[Row] = {
    "lbImageRepository": "kindest",
    "etcdImageTag": "3.6.5-0",
    "coreDNSImageTag": "v1.12.4",
    "kubeadmControlPlaneMaxSurge": "1",
    "preLoadImages": ["registry.example.com/a:1", "registry.example.com/b:2"],
    "controlPlaneTaint": False,
    "externalCloudProvider": True,
    "ipv6Primary": True,
    "kubeControlPlaneLogLevel": "4",
    "kubeletLogLevel": "5",
}
"""Values that turn every patch of the class on."""


async def desired() -> list[Row]:
    """The desired state of a control plane and three workers, patches included and alone; once with
    the class as it is, once with every patch said twice. Nothing where the class is not at hand."""
    if not FILE.exists():
        return []
    rows = []
    for times in (1, 2):
        blueprint = _blueprint(times)
        patches = blueprint.cluster_class.spec.patches
        changes = sum(len(one.json_patches) for each in patches for one in each.definitions)
        said = f"{len(patches)} patches of {changes} changes"
        rows += [await _state(f"desired state, {said}", blueprint)]
        rows += [await _patches(f"patches alone, {said}", blueprint)]
    return [*rows, await _state(f"desired state, {GROUPS} MachineDeployments, no patches", _many())]


async def _state(step: str, blueprint: Any) -> Row:
    took = []
    for _ in range(RUNS):
        began = time.perf_counter()
        await _desired(blueprint)
        took.append(time.perf_counter() - began)
    return _row(step, took)


async def _patches(step: str, blueprint: Any) -> Row:
    """On states that are desired without them."""
    from msgspec.structs import replace

    from kapy.topology.patches import patched

    class_ = blueprint.cluster_class
    bare = replace(class_, spec=replace(class_.spec, patches=[]))
    unpatched = type(blueprint)(**{**vars(blueprint), "cluster_class": bare})
    took = []
    for _ in range(RUNS):
        state = await _desired(unpatched)
        began = time.perf_counter()
        await patched(blueprint, state)
        took.append(time.perf_counter() - began)
    return _row(step, took)


def _row(step: str, took: list[float]) -> Row:
    median = percentile(took, 0.5)
    return {"step": step, "wall_s": round(median, 6), "ms": round(1e3 * median, 3)}


async def _desired(blueprint: Any) -> Any:
    from kapy.topology.desired import desired_state
    from kapy.topology.hook_calls import HookCalls
    from kapy.topology.hook_memory import HookMemory
    from kapy.topology.state import ClusterState
    from kapy.topology.upgrade_tracker import UpgradeTracker

    cluster = _cluster()

    async def write(_: str) -> None:
        raise AssertionError("no hook is owed where nobody is asked")

    calls = HookCalls(cluster, None, HookMemory(), write)
    upgrades = UpgradeTracker.of(cluster)
    return await desired_state(blueprint, ClusterState(cluster), upgrades, calls)


def _many() -> Any:
    """Many groups of workers, of a class without patches."""
    blueprint = _blueprint(0)
    workers = blueprint.topology.workers
    [one] = workers.machine_deployments
    workers.machine_deployments = [
        type(one)(class_=one.class_, name=f"md-{number}", replicas=one.replicas)
        for number in range(GROUPS)
    ]
    return blueprint


def _cluster() -> Any:
    from kapy.api.cluster import Cluster
    from kapy.kube.meta import read

    variables = [{"name": name, "value": value} for name, value in _EVERYTHING.items()]
    workers = [{"class": "default-worker", "name": "md-0", "replicas": 3}]
    topology = {
        "classRef": {"name": "quick-start"},
        "version": "v1.34.2",
        "controlPlane": {"replicas": 1},
        "variables": variables,
        "workers": {"machineDeployments": workers},
    }
    network = {
        "services": {"cidrBlocks": ["10.128.0.0/12"]},
        "pods": {"cidrBlocks": ["192.168.0.0/16"]},
        "serviceDomain": "cluster.local",
    }
    metadata = {
        "name": "one",
        "namespace": "default",
        "uid": "8c1b7d5e-0000-4000-8000-000000000000",
    }
    spec = {"clusterNetwork": network, "topology": topology}
    return read({"metadata": metadata, "spec": spec}, Cluster)


def _blueprint(times: int) -> Any:
    """times: how often each patch is said."""
    from kapy.api.cluster_class import ClusterClass
    from kapy.kube import yaml
    from kapy.kube.meta import read
    from kapy.topology.blueprint import Blueprint, ControlPlaneBlueprint, WorkersBlueprint
    from kapy.topology.discovery import status_variables

    found = {(one["kind"], one["metadata"]["name"]): one for one in yaml.load_all(FILE.read_text())}
    class_ = read(found["ClusterClass", "quick-start"], ClusterClass)
    class_.status.variables = status_variables(class_.spec.variables, {})
    class_.spec.patches = [
        type(one)(
            name=f"{one.name}-{number}", enabled_if=one.enabled_if, definitions=one.definitions
        )
        for number in range(times)
        for one in class_.spec.patches
    ]

    def named(ref: Any) -> Any:
        return found[ref.template_ref.kind, ref.template_ref.name]

    spec = class_.spec
    assert spec.control_plane.machine_infrastructure is not None
    topology = _cluster().spec.topology
    return Blueprint(
        topology=topology,
        cluster_class=class_,
        infrastructure_cluster_template=named(spec.infrastructure),
        control_plane=ControlPlaneBlueprint(
            named(spec.control_plane), named(spec.control_plane.machine_infrastructure)
        ),
        machine_deployments={
            one.class_: WorkersBlueprint(named(one.bootstrap), named(one.infrastructure))
            for one in spec.workers.machine_deployments
        },
    )
