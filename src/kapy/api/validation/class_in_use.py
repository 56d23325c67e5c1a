"""Changes of a ClusterClass that the Clusters using it do not allow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kapy.api.cluster import Cluster
from kapy.api.cluster_class import ClusterClass
from kapy.api.cluster_topology import Topology
from kapy.api.validation.class_use import autoscaler_errors, is_checked
from kapy.api.validation.cluster_topology import own_autoscaler_errors
from kapy.kube.field_errors import FieldError, forbidden

_WORKERS: Final = "spec.workers"
_UNCHECKED: Final = "healthCheck cannot be deleted because it is used by Cluster(s)"


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
        *_version_errors(new, used),
        *_removed_errors(old, new, used),
        *_health_check_errors(old, new, used),
        *_autoscaler_errors(new, used),
    ]


_Used = Sequence[tuple[Cluster, Topology]]


def _version_errors(new: ClusterClass, used: _Used) -> Iterator[FieldError]:
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
                yield forbidden(f"{_WORKERS}.{field}", problem)


def _health_check_errors(old: ClusterClass, new: ClusterClass, used: _Used) -> Iterator[FieldError]:
    """Yield errors for removed health checks that Clusters enable without defining their own."""
    if is_checked(old.spec.control_plane.health_check) and not is_checked(
        new.spec.control_plane.health_check
    ):
        names = [
            cluster.metadata.name
            for cluster, topology in used
            if topology.control_plane.health_check.enabled
            and not is_checked(topology.control_plane.health_check)
        ]
        if names:
            yield forbidden("spec.controlPlane.healthCheck", f'{_UNCHECKED} "{",".join(names)}"')
    checked = {
        item.class_
        for item in old.spec.workers.machine_deployments
        if is_checked(item.health_check)
    }
    for deployment in new.spec.workers.machine_deployments:
        if deployment.class_ in checked and not is_checked(deployment.health_check):
            names = [
                cluster.metadata.name
                for cluster, topology in used
                if any(
                    part.class_ == deployment.class_
                    and part.health_check.enabled
                    and not is_checked(part.health_check)
                    for part in topology.workers.machine_deployments
                )
            ]
            if names:
                where = f"{_WORKERS}.machineDeployments[{deployment.class_}].healthCheck"
                yield forbidden(where, f'{_UNCHECKED} "{",".join(names)}"')


def _autoscaler_errors(new: ClusterClass, used: _Used) -> Iterator[FieldError]:
    for cluster, topology in used:
        yield from own_autoscaler_errors(cluster, topology)
        yield from autoscaler_errors(cluster, topology, new)
