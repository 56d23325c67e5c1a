"""Validation of a Cluster without its ClusterClass: its managed topology, and changes of that."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from ipaddress import ip_network
from typing import Final

from kapy.api.cluster import Cluster, NetworkRanges
from kapy.api.cluster_topology import Topology
from kapy.api.cluster_topology_workers import MachineDeploymentTopology
from kapy.api.features import FeatureGates
from kapy.api.names import Annotation
from kapy.api.validation.features import closed_gate_error
from kapy.api.validation.machine_fields import rolling_update_errors, taint_errors, version_errors
from kapy.api.validation.metadata import name_as_label_errors, template_metadata_errors
from kapy.kube.digits import has_only_digits, parse_integer
from kapy.kube.field_errors import FieldError, forbidden, invalid, required
from kapy.kube.version import InvalidVersion, Version, compare, parse_tolerant

_PATH: Final = "spec.topology"
_WORKERS: Final = f"{_PATH}.workers"
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
NO_VERSION: Final = "version must be a valid semantic version"
AUTOSCALER: Final = frozenset((Annotation.AUTOSCALER_MIN_SIZE, Annotation.AUTOSCALER_MAX_SIZE))
"""An autoscaler scales the workers that have one of these annotations."""
_VERSION: Final = "spec.topology.version"
CLASS: Final = "spec.topology.class"
UNCHECKED: Final = (
    "Skipping version validation for Cluster because annotation "
    f'"{Annotation.UNSAFE_UPDATE_VERSION}" is set.'
)
"""The warning for a user who changes the version without the checks."""
_HOOK: Final = "AfterClusterUpgrade"
_NONE: Final = Version(0, 0, 0)


def cluster_errors(cluster: Cluster, old: Cluster | None, gates: FeatureGates) -> list[FieldError]:
    """Return the validation errors of a Cluster."""
    spec = cluster.spec
    errors = name_as_label_errors(cluster.metadata.name, " ")
    before = old.spec if old is not None else None
    if before is not None and before.infrastructure_ref and not spec.infrastructure_ref:
        errors.append(forbidden("spec.infrastructureRef", "cannot be removed"))
    if not (spec.control_plane_ref or spec.infrastructure_ref or spec.topology):
        problem = "one of spec.controlPlaneRef, spec.infrastructureRef or spec.topology must be set"
        errors.append(forbidden("spec", problem))
    if before is not None and before.control_plane_ref and not spec.control_plane_ref:
        errors.append(forbidden("spec.controlPlaneRef", "cannot be removed"))
    errors += _range_errors(spec.cluster_network.pods, "spec.clusterNetwork.pods")
    errors += _range_errors(spec.cluster_network.services, "spec.clusterNetwork.services")
    if spec.topology is not None:
        errors += _topology_errors(cluster, spec.topology, gates)
    elif before is not None and before.topology is not None:
        errors.append(forbidden("spec.topology", "cannot be removed from an existing Cluster"))
    return errors


def _range_errors(ranges: NetworkRanges | None, path: str) -> list[FieldError]:
    return [
        invalid(f"{path}.cidrBlocks[{number}]", block, f"invalid CIDR address: {block}")
        for number, block in enumerate(ranges.cidr_blocks if ranges is not None else ())
        if not _is_cidr(block)
    ]


def _is_cidr(block: str) -> bool:
    if "/" not in block or not has_only_digits(block.rpartition("/")[2]):
        return False
    try:
        ip_network(block, strict=False)
    except ValueError:
        return False
    return True


def _topology_errors(cluster: Cluster, topology: Topology, gates: FeatureGates) -> list[FieldError]:
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


def new_topology_errors(cluster: Cluster) -> list[FieldError]:
    """Return an error if a Cluster without topology gets one, unless an annotation allows it."""
    if Annotation.UNSAFE_UPDATE_CLASS_NAME in cluster.metadata.annotations:
        return []
    return [forbidden(CLASS, "classRef cannot be set on an existing Cluster")]


def changes_version(old: Topology, new: Topology) -> bool:
    """Report whether the change sets another version."""
    return str(_parse_version(old.version)) != str(_parse_version(new.version))


def version_change_errors(
    cluster: Cluster, old: Topology, new: Topology, *, ceiling: bool, unsettled: Sequence[str]
) -> list[FieldError]:
    """Return the errors that forbid the new version."""
    errors = []
    after, before = _parse_version(new.version), _parse_version(old.version)
    if after is _NONE:
        errors.append(invalid(_VERSION, new.version, NO_VERSION))
    if before is _NONE:
        problem = "old version must be a valid semantic version"
        errors.append(invalid(_VERSION, old.version, problem))
    annotations = cluster.metadata.annotations
    if Annotation.UNSAFE_UPDATE_VERSION in annotations or str(after) == str(before):
        return errors
    is_comparable = after is not _NONE and before is not _NONE
    if is_comparable and compare(after, before, pre_releases=False) < 0:
        problem = f'version cannot be decreased from "{before}" to "{after}"'
    elif ceiling and _is_two_minors_on(before, after):
        problem = f'version cannot be increased from "{before}" to "{after}"'
    elif _HOOK in annotations.get(Annotation.PENDING_HOOKS, "").split(","):
        problem = f'version cannot be changed when the "{_HOOK}" hook is still blocking'
    elif unsettled:
        all_ = unsettled[0] if len(unsettled) == 1 else f"[{', '.join(unsettled)}]"
        problem = f"version cannot be changed: {all_}"
    else:
        return errors
    return [*errors, invalid(_VERSION, new.version, problem)]


def _is_two_minors_on(before: Version, after: Version) -> bool:
    limit = Version(before.major, before.minor + 2, 0)
    return compare(after, limit, pre_releases=False) >= 0


def _parse_version(version: str) -> Version:
    try:
        return parse_tolerant(version)
    except InvalidVersion:
        return _NONE
