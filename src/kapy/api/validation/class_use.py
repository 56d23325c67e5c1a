"""Validation of a Cluster against its ClusterClass.

Variables are validated when they are defaulted, with the definitions in the class's status.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kapy.api.cluster import Cluster
from kapy.api.cluster_class import ClusterClass
from kapy.api.cluster_class_workers import MachineDeploymentClass
from kapy.api.cluster_topology import Topology
from kapy.api.cluster_topology_workers import MachineDeploymentTopology, MachinePoolTopology
from kapy.api.health_check import (
    ControlPlaneHealthCheck,
    ControlPlaneTopologyHealthCheck,
    WorkerHealthCheck,
    WorkerTopologyHealthCheck,
)
from kapy.api.validation.cluster_topology import AUTOSCALER, autoscaled_replicas_error
from kapy.api.validation.machine_health_check import health_check_errors
from kapy.api.validation.rollout import int_or_percent_errors
from kapy.kube import Key
from kapy.kube.field_errors import FieldError, forbidden, invalid, required
from kapy.kube.model import encode

_PATH: Final = "spec.topology"
_WORKERS: Final = f"{_PATH}.workers"


def class_key(cluster: Cluster) -> Key | None:
    """Return the key of the Cluster's ClusterClass; None if the Cluster has none."""
    topology = cluster.spec.topology
    if topology is None or not topology.class_ref.name:
        return None
    ref = topology.class_ref
    return Key(ref.namespace or cluster.metadata.namespace, ref.name)


def class_use_errors(
    cluster: Cluster, topology: Topology, cluster_class: ClusterClass
) -> list[FieldError]:
    """Return an error for each part of a Cluster that its class does not define."""
    classes = cluster_class.spec.workers
    deployments = {deployment.class_: deployment for deployment in classes.machine_deployments}
    pools = {pool.class_ for pool in classes.machine_pools}
    workers = topology.workers
    return [
        *_version_errors(topology, cluster_class),
        *_worker_errors(
            workers.machine_deployments, set(deployments), "MachineDeployment", cluster_class
        ),
        *_worker_errors(workers.machine_pools, pools, "MachinePool", cluster_class),
        *_control_plane_check_errors(topology, cluster_class),
        *_worker_check_errors(workers.machine_deployments, deployments),
        *autoscaler_errors(cluster, topology, cluster_class),
    ]


def _version_errors(topology: Topology, cluster_class: ClusterClass) -> Iterator[FieldError]:
    versions = cluster_class.spec.kubernetes_versions
    if versions and topology.version not in versions:
        problem = "version must match one of the versions defined in the ClusterClass"
        yield invalid(f"{_PATH}.version", topology.version, problem)


def _worker_errors(
    workers: Sequence[MachineDeploymentTopology | MachinePoolTopology],
    classes: set[str],
    kind: str,
    cluster_class: ClusterClass,
) -> Iterator[FieldError]:
    names: set[str] = set()
    for number, worker in enumerate(workers):
        where = f"{_WORKERS}.{kind[0].lower()}{kind[1:]}s[{number}]"
        if worker.class_ not in classes:
            problem = (
                f'{kind}Class with name "{worker.class_}" does not exist in ClusterClass '
                f'"{cluster_class.metadata.name}"'
            )
            yield invalid(f"{where}.class", worker.class_, problem)
        if not worker.name:
            yield required(f"{where}.name", "name must not be empty")
        elif worker.name in names:
            problem = (
                f'name must be unique. {kind} with name "{worker.name}" is defined more than once'
            )
            yield invalid(f"{where}.name", worker.name, problem)
        names.add(worker.name)


def is_checked(
    check: ControlPlaneTopologyHealthCheck
    | WorkerTopologyHealthCheck
    | ControlPlaneHealthCheck
    | WorkerHealthCheck,
) -> bool:
    """Report whether a health check configures more than whether it is enabled."""
    return bool(encode(check.checks) or encode(check.remediation))


def _control_plane_check_errors(
    topology: Topology, cluster_class: ClusterClass
) -> Iterator[FieldError]:
    check, path = topology.control_plane.health_check, f"{_PATH}.controlPlane.healthCheck"
    control_plane = cluster_class.spec.control_plane
    if is_checked(check):
        if control_plane.machine_infrastructure is None:
            problem = (
                "can be only set if spec.controlPlane.machineInfrastructure is set in ClusterClass"
            )
            yield forbidden(path, problem)
        yield from health_check_errors(check.checks, check.remediation.trigger_if, path)
    yield from _enabled_errors(check, control_plane.health_check, path)


def _worker_check_errors(
    workers: Sequence[MachineDeploymentTopology], classes: dict[str, MachineDeploymentClass]
) -> Iterator[FieldError]:
    for worker in workers:
        path = f"{_WORKERS}.machineDeployments[{worker.name}].healthCheck"
        if is_checked(worker.health_check):
            remediation = worker.health_check.remediation
            yield from health_check_errors(worker.health_check.checks, remediation.trigger_if, path)
            in_flight = remediation.max_in_flight
            yield from int_or_percent_errors(f"{path}.remediation.maxInFlight", in_flight)
        if (class_ := classes.get(worker.class_)) is not None:
            yield from _enabled_errors(worker.health_check, class_.health_check, path)


def _enabled_errors(
    check: ControlPlaneTopologyHealthCheck | WorkerTopologyHealthCheck,
    of_class: ControlPlaneHealthCheck | WorkerHealthCheck,
    path: str,
) -> Iterator[FieldError]:
    if check.enabled and not is_checked(check) and not is_checked(of_class):
        problem = (
            "cannot be set to true as healthCheck definition is not available in the Cluster "
            "topology or the ClusterClass"
        )
        yield forbidden(f"{path}.enable", problem)


def autoscaler_errors(
    cluster: Cluster, topology: Topology, cluster_class: ClusterClass
) -> Iterator[FieldError]:
    """Yield errors for replicas in the Cluster if the class gives the group to an autoscaler."""
    scaled = {
        deployment.class_
        for deployment in cluster_class.spec.workers.machine_deployments
        if AUTOSCALER & set(deployment.metadata.annotations)
    }
    for part in topology.workers.machine_deployments:
        if part.replicas is not None and part.class_ in scaled:
            when = (
                f'the source class "{part.class_}" of this MachineDeploymentTopology has '
                "autoscaler annotations"
            )
            yield autoscaled_replicas_error(cluster, part, when)
