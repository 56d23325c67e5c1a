"""Validation of a Cluster against its ClusterClass, and of changes of a class that is in use.

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
from kapy.api.validation.cluster import (
    AUTOSCALER,
    autoscaled_replicas_error,
    own_autoscaler_errors,
)
from kapy.api.validation.machine_fields import int_or_percent_errors
from kapy.api.validation.machine_health_check import health_check_errors
from kapy.kube import Key
from kapy.kube.field_errors import FieldError, forbidden, invalid, required
from kapy.kube.model import encode

_PATH: Final = "spec.topology"
_WORKERS: Final = f"{_PATH}.workers"

_CLASS_WORKERS: Final = "spec.workers"
_UNCHECKED: Final = "healthCheck cannot be deleted because it is used by Cluster(s)"
_Used = Sequence[tuple[Cluster, Topology]]


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
        *_autoscaler_errors(cluster, topology, cluster_class),
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


def _is_checked(
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
    if _is_checked(check):
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
        if _is_checked(worker.health_check):
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
    if check.enabled and not _is_checked(check) and not _is_checked(of_class):
        problem = (
            "cannot be set to true as healthCheck definition is not available in the Cluster "
            "topology or the ClusterClass"
        )
        yield forbidden(f"{path}.enable", problem)


def _autoscaler_errors(
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


def in_use_errors(
    old: ClusterClass, new: ClusterClass, clusters: Sequence[Cluster]
) -> list[FieldError]:
    """Return the errors of a change to a class in use. clusters: those that use it."""
    used = [
        (cluster, cluster.spec.topology)
        for cluster in clusters
        if cluster.spec.topology is not None
    ]
    return [
        *_used_version_errors(new, used),
        *_removed_errors(old, new, used),
        *_health_check_errors(old, new, used),
        *_used_autoscaler_errors(new, used),
    ]


def _used_version_errors(new: ClusterClass, used: _Used) -> Iterator[FieldError]:
    versions = new.spec.kubernetes_versions
    for cluster, topology in used:
        if versions and topology.version not in versions:
            problem = (
                f"Kubernetes Version {topology.version} is used by Cluster "
                f'"{cluster.metadata.name}" but not set in ClusterClass'
            )
            yield forbidden("spec.kubernetesVersions", problem)


def _removed_errors(old: ClusterClass, new: ClusterClass, used: _Used) -> Iterator[FieldError]:
    before, after = old.spec.workers, new.spec.workers
    for kind, field, removed, parts in (
        (
            "MachineDeployment",
            "machineDeployments",
            {deployment.class_ for deployment in before.machine_deployments}
            - {deployment.class_ for deployment in after.machine_deployments},
            [(item, part) for item, top in used for part in top.workers.machine_deployments],
        ),
        (
            "MachinePool",
            "machinePools",
            {pool.class_ for pool in before.machine_pools}
            - {pool.class_ for pool in after.machine_pools},
            [(item, part) for item, top in used for part in top.workers.machine_pools],
        ),
    ):
        for cluster, part in parts:
            if part.class_ in removed:
                problem = (
                    f'{kind}Class "{part.class_}" cannot be deleted because it is used by Cluster '
                    f'"{cluster.metadata.name}"'
                )
                yield forbidden(f"{_CLASS_WORKERS}.{field}", problem)


def _health_check_errors(old: ClusterClass, new: ClusterClass, used: _Used) -> Iterator[FieldError]:
    """Yield errors for removed health checks that Clusters enable without defining their own."""
    if _is_checked(old.spec.control_plane.health_check) and not _is_checked(
        new.spec.control_plane.health_check
    ):
        names = [
            cluster.metadata.name
            for cluster, topology in used
            if topology.control_plane.health_check.enabled
            and not _is_checked(topology.control_plane.health_check)
        ]
        if names:
            yield forbidden("spec.controlPlane.healthCheck", f'{_UNCHECKED} "{",".join(names)}"')
    checked = {
        item.class_
        for item in old.spec.workers.machine_deployments
        if _is_checked(item.health_check)
    }
    for deployment in new.spec.workers.machine_deployments:
        if deployment.class_ in checked and not _is_checked(deployment.health_check):
            names = [
                cluster.metadata.name
                for cluster, topology in used
                if any(
                    part.class_ == deployment.class_
                    and part.health_check.enabled
                    and not _is_checked(part.health_check)
                    for part in topology.workers.machine_deployments
                )
            ]
            if names:
                where = f"{_CLASS_WORKERS}.machineDeployments[{deployment.class_}].healthCheck"
                yield forbidden(where, f'{_UNCHECKED} "{",".join(names)}"')


def _used_autoscaler_errors(new: ClusterClass, used: _Used) -> Iterator[FieldError]:
    for cluster, topology in used:
        yield from own_autoscaler_errors(cluster, topology)
        yield from _autoscaler_errors(cluster, topology, new)
