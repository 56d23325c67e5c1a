"""The conditions and the phase of a Cluster (pure functions)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

from kapy.api.cluster import Cluster, ClusterAvailabilityGate
from kapy.api.condition import Condition
from kapy.api.names import ConditionType, Reason
from kapy.api.times import stamp
from kapy.api.wording import LOOK_AT_LOGS
from kapy.conditions.aggregate import aggregate
from kapy.conditions.aggregation_input import aggregation_input
from kapy.conditions.change import Conditioned, set_condition
from kapy.conditions.lookup import FALSE, false, has, is_true, true, unknown
from kapy.conditions.machines import machines_ready, machines_up_to_date, remediating
from kapy.conditions.merge import Merge, reasons
from kapy.conditions.paused import paused_condition
from kapy.conditions.priority import Priority, by_polarity
from kapy.conditions.summary import summary
from kapy.contract.errors import ContractError
from kapy.contract.observed import Found, Unreadable
from kapy.core.cluster.counters import count_control_plane, count_workers
from kapy.core.cluster.references import (
    ReportingObject,
    control_plane_available,
    infrastructure_ready,
    reporting_object,
)
from kapy.core.cluster.scope import ClusterScope, is_of_pool, is_owned_by
from kapy.core.cluster.status_v1beta1 import update_v1beta1_status
from kapy.engine.result import DONE, Result, requeue

NOT_TO_BE_REMEDIATED: Final = "not to be remediated"
WAITING_FOR_TOPOLOGY: Final = "Waiting for cluster topology to be reconciled"
FAILURES: Final = 5

AVAILABILITY: Final = (
    ConditionType.DELETING,
    ConditionType.REMOTE_CONNECTION_PROBE,
    ConditionType.INFRASTRUCTURE_READY,
    ConditionType.CONTROL_PLANE_AVAILABLE,
    ConditionType.WORKERS_AVAILABLE,
    ConditionType.TOPOLOGY_RECONCILED,
)


def update_status(scope: ClusterScope) -> None:
    """Write the results of the phases to the Cluster's status."""
    cluster = scope.cluster
    cluster.status.phase = phase(cluster)
    count_control_plane(scope)
    count_workers(scope)
    for condition in conditions(scope):
        set_condition(cluster, condition, scope.now)
    set_condition(cluster, available(cluster, scope.gates), scope.now)
    update_v1beta1_status(scope)


def phase(cluster: Cluster) -> str:
    """Return the value for the Cluster's `status.phase`."""
    spec, result = cluster.spec, cluster.status.phase or "Pending"
    if spec.infrastructure_ref is not None or spec.control_plane_ref is not None:
        result = "Provisioning"
    if cluster.status.initialization.infrastructure_provisioned and has_endpoint(cluster):
        result = "Provisioned"
    return "Deleting" if cluster.deleting else result


def has_endpoint(cluster: Cluster) -> bool:
    """Return whether the control plane endpoint is known."""
    endpoint = cluster.spec.control_plane_endpoint
    return bool(endpoint.host and endpoint.port)


def conditions(scope: ClusterScope) -> Iterator[Condition]:
    """Return all conditions that this controller owns, except Available."""
    cluster, descendants = scope.cluster, scope.descendants
    yield paused_condition(cluster, cluster)
    if (probe := remote_connection(cluster, scope)) is not None:
        yield probe
    yield infrastructure_ready(scope)
    yield control_plane_available(scope)
    if not is_true(cluster.status.conditions, ConditionType.CONTROL_PLANE_INITIALIZED):
        yield control_plane_initialized(scope)
    yield workers_available(scope)
    control_plane = aggregation_input(descendants.control_plane, descendants.groups)
    # Machines of MachinePools do not report everything that is aggregated here.
    machines = [machine for machine in descendants.workers if not is_of_pool(machine)]
    workers = aggregation_input(machines, descendants.groups)
    yield machines_ready(control_plane.representatives, ConditionType.CONTROL_PLANE_MACHINES_READY)
    yield machines_ready(workers.representatives, ConditionType.WORKER_MACHINES_READY)
    now = scope.now
    of = ConditionType.CONTROL_PLANE_MACHINES_UP_TO_DATE
    yield machines_up_to_date(control_plane, now, of)
    yield machines_up_to_date(workers, now, ConditionType.WORKER_MACHINES_UP_TO_DATE)
    plane = reporting_object(scope.control_plane)
    yield rolling_out(scope, plane)
    yield scaling(scope, plane, ConditionType.SCALING_UP, SCALING_UP)
    yield scaling(scope, plane, ConditionType.SCALING_DOWN, SCALING_DOWN)
    representatives = [*control_plane.representatives, *workers.representatives]
    yield remediating(representatives, NOT_TO_BE_REMEDIATED)
    yield deleting(cluster, *scope.deleting)


def remote_connection(cluster: Cluster, scope: ClusterScope) -> Condition | None:
    """Return the condition RemoteConnectionProbe; None during the first attempts to connect."""
    of, health = ConditionType.REMOTE_CONNECTION_PROBE, scope.health
    if health.last_success is None and health.failures < FAILURES:
        if has(cluster.status.conditions, of):
            return None
        return false(of, Reason.PROBE_FAILED, "Remote connection not established yet")
    if health.last_success is None:
        return false(of, Reason.PROBE_FAILED, "Remote connection probe failed")
    if scope.now - health.last_success > scope.dependencies.grace:
        when = stamp(health.last_success)
        message = f"Remote connection probe failed, probe last succeeded at {when}"
        return false(of, Reason.PROBE_FAILED, message)
    return true(of, Reason.PROBE_SUCCEEDED)


def control_plane_initialized(scope: ClusterScope) -> Condition:
    """Return the condition ControlPlaneInitialized, which stays True."""
    of, cluster = ConditionType.CONTROL_PLANE_INITIALIZED, scope.cluster
    ref = cluster.spec.control_plane_ref
    if ref is None:
        return _initialization_without_provider(scope)
    match scope.control_plane:
        case Found(view):
            try:
                if view.initialized:
                    return true(of, Reason.INITIALIZED)
            except ContractError:
                return unknown(of, Reason.INTERNAL_ERROR, LOOK_AT_LOGS)
            return false(of, Reason.NOT_INITIALIZED, "Control plane not yet initialized")
        case Unreadable():
            return unknown(of, Reason.INTERNAL_ERROR, LOOK_AT_LOGS)
    return unknown(of, Reason.OBJECT_DOES_NOT_EXIST, f"{ref.kind} does not exist")


def _initialization_without_provider(scope: ClusterScope) -> Condition:
    of, cluster = ConditionType.CONTROL_PLANE_INITIALIZED, scope.cluster
    if cluster.spec.topology is not None:
        message = "" if cluster.deleting else WAITING_FOR_TOPOLOGY
        return unknown(of, Reason.OBJECT_DOES_NOT_EXIST, message)
    if any(machine.status.node_ref is not None for machine in scope.descendants.control_plane):
        return true(of, Reason.INITIALIZED)
    message = "Waiting for the first control plane machine to have status.nodeRef set"
    return false(of, Reason.NOT_INITIALIZED, message)


def workers_available(scope: ClusterScope) -> Condition:
    """Return WorkersAvailable, aggregated from the Available conditions of MachineDeployments."""
    of, deployments = ConditionType.WORKERS_AVAILABLE, scope.descendants.deployments
    if not deployments:
        return true(of, Reason.NO_WORKERS)
    merge = Merge(reason=_AVAILABLE)
    return aggregate(deployments, ConditionType.AVAILABLE, target=of, merge=merge)


def rolling_out(scope: ClusterScope, plane: ReportingObject | None) -> Condition:
    """Return RollingOut, aggregated from the control plane and the MachineDeployments."""
    of = ConditionType.ROLLING_OUT
    if isinstance(scope.control_plane, Unreadable):
        return unknown(of, Reason.INTERNAL_ERROR, LOOK_AT_LOGS)
    rolling: list[Conditioned] = [
        *_reporting_objects(plane, of),
        *scope.descendants.deployments,
    ]
    return _negative(rolling, of, _ROLLING_OUT)


def scaling(
    scope: ClusterScope, plane: ReportingObject | None, of: str, words: tuple[str, str, str]
) -> Condition:
    """Return ScalingUp or ScalingDown, aggregated from the control plane and all owners of
    workers.
    """
    cluster, descendants = scope.cluster, scope.descendants
    if isinstance(scope.control_plane, Unreadable):
        return unknown(of, Reason.INTERNAL_ERROR, LOOK_AT_LOGS)
    alone = [
        machine_set for machine_set in descendants.machine_sets if is_owned_by(machine_set, cluster)
    ]
    scaled: list[Conditioned] = [
        *_reporting_objects(plane, of),
        *descendants.deployments,
        *alone,
    ]
    return _negative(scaled, of, words)


def _reporting_objects(plane: ReportingObject | None, of: str) -> list[ReportingObject]:
    """Return the control plane if it reports the condition, which the contract does not require."""
    return [plane] if plane is not None and has(plane.status.conditions, of) else []


_ROLLING_OUT: Final = (Reason.ROLLING_OUT, Reason.ROLLING_OUT_UNKNOWN, Reason.NOT_ROLLING_OUT)
SCALING_UP: Final = (Reason.SCALING_UP, Reason.SCALING_UP_UNKNOWN, Reason.NOT_SCALING_UP)
SCALING_DOWN: Final = (
    Reason.SCALING_DOWN,
    Reason.SCALING_DOWN_UNKNOWN,
    Reason.NOT_SCALING_DOWN,
)
_AVAILABLE: Final = reasons(Reason.NOT_AVAILABLE, Reason.AVAILABLE_UNKNOWN, Reason.AVAILABLE)


def _negative(objects: Sequence[Conditioned], of: str, words: tuple[str, str, str]) -> Condition:
    if not objects:
        return false(of, words[2])
    merge = Merge(priority=by_polarity((of,)), reason=reasons(*words), positive=False)
    return aggregate(objects, of, negative=True, merge=merge)


def deleting(cluster: Cluster, reason: str, message: str) -> Condition:
    """Return the Deleting condition."""
    if not cluster.deleting:
        return false(ConditionType.DELETING, Reason.NOT_DELETING)
    return true(ConditionType.DELETING, reason or Reason.DELETING, message)


def available(cluster: Cluster, gates: Sequence[ClusterAvailabilityGate] = ()) -> Condition:
    """Return Available, summarized from the Cluster's own conditions and its availability gates."""
    negative = [ConditionType.DELETING]
    negative += [gate.condition_type for gate in gates if gate.polarity == "Negative"]
    usual = by_polarity(negative)

    def priority(condition: Condition) -> Priority:
        # While the Cluster is deleted, the absence of its objects is no issue.
        if cluster.deleting and (condition.type, condition.reason) in _EXPECTED_WHILE_DELETING:
            return Priority.INFO
        if (
            condition.type == ConditionType.TOPOLOGY_RECONCILED
            and condition.status == FALSE
            and condition.reason not in _TOPOLOGY_ISSUES
        ):
            return Priority.INFO
        return usual(condition)

    optional = [] if cluster.spec.topology is not None else [ConditionType.TOPOLOGY_RECONCILED]
    return summary(
        cluster,
        ConditionType.AVAILABLE,
        [*AVAILABILITY, *(gate.condition_type for gate in gates)],
        ignore_if_missing=optional,
        merge=Merge(priority=priority, reason=_AVAILABLE),
    )


_EXPECTED_WHILE_DELETING: Final = frozenset(
    {
        (ConditionType.INFRASTRUCTURE_READY, Reason.OBJECT_DELETED),
        (ConditionType.INFRASTRUCTURE_READY, Reason.OBJECT_DOES_NOT_EXIST),
        (ConditionType.CONTROL_PLANE_AVAILABLE, Reason.OBJECT_DELETED),
        (ConditionType.CONTROL_PLANE_AVAILABLE, Reason.OBJECT_DOES_NOT_EXIST),
    }
)
_TOPOLOGY_ISSUES: Final = (Reason.RECONCILE_FAILED, Reason.CLUSTER_CLASS_NOT_RECONCILED)


def until_silent(scope: ClusterScope) -> Result:
    """Return a timer for the end of the grace period: there is no event at that moment."""
    health = scope.health
    if health.last_success is None or (health.connected and not health.failures):
        return DONE
    remaining = health.last_success + scope.dependencies.grace - scope.now
    if remaining < timedelta(0):
        return DONE
    return requeue(after=remaining + timedelta(seconds=1), because="the cluster does not answer")
