"""Validation of the managed topology of a Cluster without its ClusterClass."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kapy.api.cluster import Cluster
from kapy.api.cluster_topology import Topology
from kapy.api.cluster_topology_workers import MachineDeploymentTopology
from kapy.api.features import FeatureGates
from kapy.api.names import Annotation
from kapy.api.validation.features import closed_gate_error
from kapy.api.validation.metadata import template_metadata_errors
from kapy.api.validation.rollout import rolling_update_errors
from kapy.api.validation.taints import taint_errors
from kapy.api.validation.versions import version_errors
from kapy.kube.digits import parse_integer
from kapy.kube.field_errors import FieldError, invalid, required

_PATH: Final = "spec.topology"
_WORKERS: Final = f"{_PATH}.workers"
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
NO_VERSION: Final = "version must be a valid semantic version"
AUTOSCALER: Final = frozenset((Annotation.AUTOSCALER_MIN_SIZE, Annotation.AUTOSCALER_MAX_SIZE))
"""An autoscaler scales the workers that have one of these annotations."""


def topology_errors(cluster: Cluster, topology: Topology, gates: FeatureGates) -> list[FieldError]:
    """Return the errors of `spec.topology`."""
    if not gates.cluster_topology:
        return [closed_gate_error("ClusterTopology", _PATH)]
    if not topology.class_ref.name:
        return [required(f"{_PATH}.class", "classRef.name cannot be empty")]
    return [
        *version_errors(topology.version, f"{_PATH}.version", NO_VERSION),
        *_metadata_errors(topology),
        *_rollout_errors(topology),
        *_taint_errors(topology, gates),
        *_concurrency_errors(cluster.metadata.annotations),
        *own_autoscaler_errors(cluster, topology),
    ]


def _metadata_errors(topology: Topology) -> Iterator[FieldError]:
    path = f"{_PATH}.controlPlane.metadata"
    yield from template_metadata_errors(topology.control_plane.metadata, path)
    workers = topology.workers
    for kind, parts in (
        ("machineDeployments", workers.machine_deployments),
        ("machinePools", workers.machine_pools),
    ):
        for part in parts:
            yield from template_metadata_errors(
                part.metadata, f"{_WORKERS}.{kind}[{part.name}].metadata"
            )


def _rollout_errors(topology: Topology) -> Iterator[FieldError]:
    for part in topology.workers.machine_deployments:
        if (strategy := part.rollout.strategy) is not None:
            path = f"{_WORKERS}.machineDeployments[{part.name}].rollout.strategy.rollingUpdate"
            yield from rolling_update_errors(strategy.rolling_update, path)


def _taint_errors(topology: Topology, gates: FeatureGates) -> Iterator[FieldError]:
    yield from taint_errors(topology.control_plane.taints, f"{_PATH}.controlPlane.taints", gates)
    for part in topology.workers.machine_deployments:
        path = f"{_WORKERS}.machineDeployments[{part.name}].taints"
        yield from taint_errors(part.taints, path, gates)
    for pool in topology.workers.machine_pools:
        path = f"{_WORKERS}.machinePools[{pool.name}].taints"
        yield from taint_errors(pool.taints, path, gates)


def _concurrency_errors(annotations: dict[str, str]) -> Iterator[FieldError]:
    """Errors of the annotation that limits concurrent upgrades of MachineDeployments."""
    name = Annotation.TOPOLOGY_UPGRADE_CONCURRENCY
    if name not in annotations:
        return
    value, where = annotations[name], f"metadata.annotations.{name}"
    if not _INTEGER.fullmatch(value):
        problem = (
            "could not parse the value of the annotation: strconv.Atoi: "
            f'parsing "{value}": invalid syntax'
        )
        yield invalid(where, value, problem)
    elif parse_integer(value) < 1:
        yield invalid(where, value, "value cannot be less than 1")


def own_autoscaler_errors(cluster: Cluster, topology: Topology) -> Iterator[FieldError]:
    """Yield errors for replicas that the Cluster sets although its own annotations give the group
    to an autoscaler."""
    for part in topology.workers.machine_deployments:
        if part.replicas is not None and AUTOSCALER & set(part.metadata.annotations):
            yield autoscaled_replicas_error(
                cluster, part, "the same MachineDeploymentTopology has autoscaler annotations"
            )


def autoscaled_replicas_error(
    cluster: Cluster, part: MachineDeploymentTopology, when: str
) -> FieldError:
    """Return an error for replicas that an autoscaler scales, too. when: the sign of the
    autoscaler.
    """
    meta = cluster.metadata
    problem = f'cannot be set for cluster "{meta.name}" in namespace "{meta.namespace}" if {when}'
    return invalid(f"{_WORKERS}.machineDeployments[{part.name}].replicas", part.replicas, problem)
