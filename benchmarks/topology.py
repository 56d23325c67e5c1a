"""The cost of a ClusterClass: the desired state of a cluster of upstream's quick-start class."""

from __future__ import annotations

import time
from copy import deepcopy
from pathlib import Path
from typing import Any, Final

from benchmarks.measure import percentile

Row = dict[str, Any]
RUNS: Final = 300
GROUPS: Final = 100
FILE: Final = (
    Path(__file__).resolve().parents[2]
    / "tests/data/upstream/providers/infrastructure-docker/v1.14.0/clusterclass-quick-start.yaml"
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
    the class as it is, once with every patch said twice; for clusters that nobody has seen before,
    and for one again and again. Nothing where the class is not at hand."""
    if not FILE.exists():
        return []
    rows = []
    for times in (1, 2):
        blueprint = _blueprint(times)
        patches = blueprint.cluster_class.spec.patches
        changes = sum(
            len(definition.json_patches) for patch in patches for definition in patch.definitions
        )
        message = f"{len(patches)} patches of {changes} changes"
        for who, new in (("new clusters", True), ("one cluster again", False)):
            rows += [await _state(f"desired state, {message}, {who}", blueprint, new=new)]
            rows += [await _patches(f"patches alone, {message}, {who}", blueprint, new=new)]
    return rows


async def _state(step: str, blueprint: Any, *, new: bool) -> Row:
    """new: with nothing there; else what was desired is there."""
    from kapy.topology.state import ClusterState

    there = await _desired(blueprint, ClusterState(_cluster(0)))
    took = []
    for number in range(RUNS):
        current = ClusterState(_cluster(number)) if new else there
        began = time.perf_counter(), time.process_time()
        await _desired(blueprint, current)
        took.append(_since(*began))
    return _row(step, took)


async def _patches(step: str, blueprint: Any, *, new: bool) -> Row:
    """On states that are desired without them."""
    from msgspec.structs import replace

    from kapy.topology.patches import apply_patches
    from kapy.topology.state import ClusterState

    class_ = blueprint.cluster_class
    bare = replace(class_, spec=replace(class_.spec, patches=[]))
    unpatched = type(blueprint)(**{**vars(blueprint), "cluster_class": bare})
    value = await _desired(unpatched, ClusterState(_cluster(0)))
    took = []
    for number in range(RUNS):
        state = deepcopy(value)
        if new:
            state = await _desired(unpatched, ClusterState(_cluster(number)))
        began = time.perf_counter(), time.process_time()
        await apply_patches(blueprint, state)
        took.append(_since(*began))
    return _row(step, took)


def _since(wall: float, cpu: float) -> tuple[float, float]:
    return time.perf_counter() - wall, time.process_time() - cpu


def _row(step: str, took: list[tuple[float, float]]) -> Row:
    wall, cpu = (percentile(list(entry), 0.5) for entry in zip(*took, strict=True))
    return {
        "step": step,
        "wall_s": round(wall, 6),
        "ms": round(1e3 * wall, 3),
        "cpu_ms": round(1e3 * cpu, 3),
    }


async def _desired(blueprint: Any, current: Any) -> Any:
    from kapy.topology.desired import desired_state
    from kapy.topology.hook_cache import HookCache
    from kapy.topology.hook_calls import HookCalls
    from kapy.topology.upgrade_tracker import UpgradeTracker

    async def write(_: str) -> None:
        raise AssertionError("no hook is owed where nobody is asked")

    calls = HookCalls(current.cluster, None, HookCache(), write)
    upgrades = UpgradeTracker.of(current.cluster)
    return await desired_state(blueprint, current, upgrades, calls)


def _many() -> Any:
    """Many groups of workers, of a class without patches."""
    blueprint = _blueprint(0)
    workers = blueprint.topology.workers
    [value] = workers.machine_deployments
    workers.machine_deployments = [
        type(value)(class_=value.class_, name=f"md-{number}", replicas=value.replicas)
        for number in range(GROUPS)
    ]
    return blueprint


def _cluster(number: int) -> Any:
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
        "uid": f"8c1b7d5e-0000-4000-8000-{number:012}",
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

    results = {
        (item["kind"], item["metadata"]["name"]): item for item in yaml.load_all(FILE.read_text())
    }
    class_ = read(results["ClusterClass", "quick-start"], ClusterClass)
    class_.status.variables = status_variables(class_.spec.variables, {})
    class_.spec.patches = [
        type(patch)(
            name=f"{patch.name}-{number}",
            enabled_if=patch.enabled_if,
            definitions=patch.definitions,
        )
        for number in range(times)
        for patch in class_.spec.patches
    ]

    def named(ref: Any) -> Any:
        return results[ref.template_ref.kind, ref.template_ref.name]

    spec = class_.spec
    assert spec.control_plane.machine_infrastructure is not None
    topology = _cluster(0).spec.topology
    return Blueprint(
        topology=topology,
        cluster_class=class_,
        infrastructure_cluster_template=named(spec.infrastructure),
        control_plane=ControlPlaneBlueprint(
            named(spec.control_plane), named(spec.control_plane.machine_infrastructure)
        ),
        machine_deployments={
            deployment.class_: WorkersBlueprint(
                named(deployment.bootstrap), named(deployment.infrastructure)
            )
            for deployment in spec.workers.machine_deployments
        },
    )
