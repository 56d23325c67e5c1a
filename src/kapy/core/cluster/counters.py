"""The replica counters of a Cluster (pure functions)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

from kapy.api.cluster import ClusterControlPlaneStatus, WorkersStatus
from kapy.api.embedded import StatusVersion
from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_pool import MachinePool
from kapy.api.machine_set import MachineSet
from kapy.api.names import ConditionType
from kapy.api.versions import sum_by_version, versions_of
from kapy.conditions.lookup import is_true
from kapy.contract.control_plane import ControlPlane
from kapy.contract.errors import ContractError
from kapy.contract.fields import Field, Version
from kapy.contract.observed import Found
from kapy.core.cluster.scope import ClusterScope, is_owned_by

MAX_VERSIONS: Final = 32  # limit in the schema; a provider may report more

Scaled: TypeAlias = MachineDeployment | MachinePool | MachineSet


def count_control_plane(scope: ClusterScope) -> None:
    """Set `status.controlPlane` from the provider's object or from standalone Machines."""
    cluster = scope.cluster
    status = cluster.status.control_plane or ClusterControlPlaneStatus()
    cluster.status.control_plane = status
    if cluster.spec.control_plane_ref is None and cluster.spec.topology is None:
        _count_machines(status, scope.descendants.control_plane)
    elif isinstance(scope.control_plane, Found):
        plane = scope.control_plane
        problem = _count_reported(status, plane.view)
        if problem is not None and plane.problem is None:
            scope.control_plane = Found(plane.view, problem)
    else:
        plan = status.upgrade_plan
        cluster.status.control_plane = ClusterControlPlaneStatus(upgrade_plan=plan)


def _count_machines(status: ClusterControlPlaneStatus, machines: list[Machine]) -> None:
    status.replicas = status.desired_replicas = len(machines) or None
    status.ready_replicas = _true_count(machines, ConditionType.READY)
    status.available_replicas = _true_count(machines, ConditionType.AVAILABLE)
    status.up_to_date_replicas = _true_count(machines, ConditionType.UP_TO_DATE)
    status.versions = versions_of(machines)


def _count_reported(status: ClusterControlPlaneStatus, view: ControlPlane) -> ContractError | None:
    """Copy the counters that the provider reports; missing or invalid ones stay unchanged.

    Returns the contract violation, if there is one.
    """
    problems = list[ContractError]()

    def read_counter(field: Field[int], before: int | None) -> int | None:
        try:
            result = field.read(view)
        except ContractError as error:
            problems.append(error)
            return before
        return before if result is None else result

    status.desired_replicas = read_counter(ControlPlane.replicas, status.desired_replicas)
    status.replicas = read_counter(ControlPlane.status_replicas, status.replicas)
    status.ready_replicas = read_counter(ControlPlane.ready_replicas, status.ready_replicas)
    status.up_to_date_replicas = read_counter(
        ControlPlane.up_to_date_replicas, status.up_to_date_replicas
    )
    if view.contract is Version.V1BETA1:
        unavailable = read_counter(ControlPlane.unavailable_replicas, None)
        available = _available(status.desired_replicas, unavailable)
        status.available_replicas = status.available_replicas if available is None else available
    else:
        status.available_replicas = read_counter(
            ControlPlane.available_replicas, status.available_replicas
        )
    try:
        status.versions = list(view.status_versions or ())[:MAX_VERSIONS]
    except ContractError as error:
        problems.append(error)
    return problems[0] if problems else None


def _available(desired: int | None, unavailable: int | None) -> int | None:
    """Return the available replicas; the v1beta1 contract reports unavailable ones."""
    if desired is None or unavailable is None:
        return None
    return max(desired - unavailable, 0)


def count_workers(scope: ClusterScope) -> None:
    """Set `status.workers` from MachinePools, MachineDeployments, and sets and Machines without an
    owner.
    """
    cluster, descendants = scope.cluster, scope.descendants
    status = cluster.status.workers or WorkersStatus()
    cluster.status.workers = status
    sets = [
        machine_set for machine_set in descendants.machine_sets if is_owned_by(machine_set, cluster)
    ]
    scaled: list[Scaled] = [*descendants.pools, *descendants.deployments, *sets]
    alone = [worker for worker in descendants.workers if is_owned_by(worker, cluster)]
    count = len(alone) or None
    status.desired_replicas = _sum(*(item.spec.replicas for item in scaled), count)
    status.replicas = _sum(*(item.status.replicas for item in scaled), count)
    status.ready_replicas = _sum(
        *(item.status.ready_replicas for item in scaled), _true_count(alone, ConditionType.READY)
    )
    status.available_replicas = _sum(
        *(item.status.available_replicas for item in scaled),
        _true_count(alone, ConditionType.AVAILABLE),
    )
    status.up_to_date_replicas = _sum(
        *(item.status.up_to_date_replicas for item in scaled),
        _true_count(alone, ConditionType.UP_TO_DATE),
    )
    status.versions = sum_by_version(_versions(scaled, alone))


def _versions(scaled: Iterable[Scaled], alone: Iterable[Machine]) -> Iterable[StatusVersion]:
    for item in scaled:
        yield from item.status.versions
    yield from versions_of(alone)


def _true_count(machines: Iterable[Machine], of: str) -> int | None:
    """Return how many Machines have the condition True; None if none reports it."""
    return sum(is_true(machine.status.conditions, of) for machine in machines) or None


def _sum(*numbers: int | None) -> int | None:
    addends = [number for number in numbers if number is not None]
    return sum(addends) if addends else None
