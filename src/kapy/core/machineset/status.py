"""The counters and conditions of a MachineSet, and those of v1beta1 in `status.deprecated.v1beta1`
(pure functions).

In v1beta1 Machines are counted by their Nodes: ready if the Node is ready, available if it has been
ready for `minReadySeconds`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

from kapy.api.condition import Condition, V1Beta1Condition
from kapy.api.machine import Machine
from kapy.api.machine_set import MachineSet
from kapy.api.machines import is_updating_in_place
from kapy.api.names import Annotation, ConditionType, Reason
from kapy.api.names_v1beta1 import V1Beta1Reason, V1Beta1Type
from kapy.api.times import moment
from kapy.api.versions import versions_of
from kapy.api.wording import LOOK_AT_LOGS
from kapy.conditions import v1beta1
from kapy.conditions.aggregation_input import AggregationInput
from kapy.conditions.change import set_condition
from kapy.conditions.lookup import TRUE, false, get, is_true, true, unknown
from kapy.conditions.machines import machines_ready, machines_up_to_date, remediating
from kapy.conditions.paused import paused_condition
from kapy.conditions.stale import stale_machines
from kapy.core.machineset.scope import MachineSetScope
from kapy.kube.model import encode
from kapy.kube.selectors import selector_of

_NOT_REMEDIATED_HERE: Final = "not to be remediated by MachineSet"
_OWN_CONDITIONS: Final = (
    ConditionType.SCALING_UP,
    ConditionType.SCALING_DOWN,
    ConditionType.MACHINES_READY,
    ConditionType.MACHINES_UP_TO_DATE,
    ConditionType.REMEDIATING,
    ConditionType.DELETING,
)
_SUMMARIZED: Final = (V1Beta1Type.MACHINES_CREATED, V1Beta1Type.RESIZED, V1Beta1Type.MACHINES_READY)


def update_status(scope: MachineSetScope) -> None:
    """Write counters and conditions to the MachineSet's status."""
    machine_set = scope.machine_set
    machine_set.status.selector = str(selector_of(encode(machine_set.spec.selector)))
    if scope.machines is not None:
        count(machine_set, scope.machines, scope.aggregation_input)
    for condition in conditions(scope):
        set_condition(machine_set, condition, scope.now)


def count(
    machine_set: MachineSet, machines: Sequence[Machine], aggregation: AggregationInput
) -> None:
    """Set the replica counters. A Machine that is updated in place counts only as existing: its
    conditions may be outdated.
    """
    steady = [
        machine.status.conditions
        for machine in aggregation.noteworthy
        if not is_updating_in_place(machine)
    ]

    def count_steady(of: str) -> int:
        return sum(is_true(conditions, of) for conditions in steady)

    status = machine_set.status
    status.replicas = len(machines)
    status.ready_replicas = aggregation.ready_count + count_steady(ConditionType.READY)
    status.available_replicas = aggregation.ready_count + count_steady(ConditionType.AVAILABLE)
    status.up_to_date_replicas = aggregation.healthy_count + count_steady(ConditionType.UP_TO_DATE)
    status.versions = versions_of(machines)


def conditions(scope: MachineSetScope) -> Iterator[Condition]:
    """All conditions that this controller owns."""
    yield paused_condition(scope.machine_set, scope.cluster)
    machines = scope.machines
    if machines is None:
        for of in _OWN_CONDITIONS:
            yield unknown(of, Reason.INTERNAL_ERROR, LOOK_AT_LOGS)
        return
    yield scaling_up(scope, len(machines))
    yield scaling_down(scope, machines)
    aggregation = scope.aggregation_input
    yield machines_ready(aggregation.representatives)
    yield machines_up_to_date(aggregation, scope.now)
    yield remediating(aggregation.representatives, _NOT_REMEDIATED_HERE)
    yield deleting(scope, machines)


def scaling_up(scope: MachineSetScope, current: int) -> Condition:
    """Return the condition ScalingUp with the current and desired replicas, and with what blocks
    it.
    """
    of, machine_set = ConditionType.SCALING_UP, scope.machine_set
    if machine_set.spec.replicas is None:
        return unknown(of, Reason.WAITING_FOR_REPLICAS_SET, "Waiting for spec.replicas set")
    desired, missing = _desired_replicas(machine_set), _missing_references(scope)
    if current >= desired:
        message = ""
        if missing and not machine_set.deleting:
            message = f"Scaling up would be blocked because {missing}"
        return false(of, Reason.NOT_SCALING_UP, message)
    message = f"Scaling up from {current} to {desired} replicas"
    if obstacles := [*scope.blocked, *([missing] if missing else [])]:
        message += " is blocked because:\n" + "\n".join(f"* {obstacle}" for obstacle in obstacles)
    return true(of, Reason.SCALING_UP, message)


def scaling_down(scope: MachineSetScope, machines: list[Machine]) -> Condition:
    """Return the condition ScalingDown with the current and desired replicas, and with the Machines
    whose deletion takes long.
    """
    of, machine_set = ConditionType.SCALING_DOWN, scope.machine_set
    if machine_set.spec.replicas is None:
        return unknown(of, Reason.WAITING_FOR_REPLICAS_SET, "Waiting for spec.replicas set")
    noteworthy = scope.aggregation_input.noteworthy  # moved Machines are among these
    current = len(machines) - sum(
        Annotation.PENDING_ACKNOWLEDGE_MOVE in machine.metadata.annotations
        for machine in noteworthy
    )
    desired = _desired_replicas(machine_set)
    if current <= desired:
        return false(of, Reason.NOT_SCALING_DOWN)
    message = f"Scaling down from {current} to {desired} replicas"
    return true(of, Reason.SCALING_DOWN, _with_stale(message, scope))


def deleting(scope: MachineSetScope, machines: list[Machine]) -> Condition:
    """Return the condition Deleting with the number of remaining Machines."""
    of = ConditionType.DELETING
    if not scope.machine_set.deleting:
        return false(of, Reason.NOT_DELETING)
    if not machines:
        return true(of, Reason.DELETING, "Deletion completed")
    message = f"Deleting {len(machines)} Machine{'s' if len(machines) > 1 else ''}"
    return true(of, Reason.DELETING, _with_stale(message, scope))


def _with_stale(message: str, scope: MachineSetScope) -> str:
    stale = stale_machines(scope.aggregation_input.noteworthy, scope.now)
    return f"{message}\n* {stale}" if stale else message


def _desired_replicas(machine_set: MachineSet) -> int:
    return 0 if machine_set.deleting else machine_set.spec.replicas or 0


def _missing_references(scope: MachineSetScope) -> str:
    spec, missing = scope.machine_set.spec.template.spec, []
    if scope.bootstrap_missing and spec.bootstrap.config_ref is not None:
        missing.append(spec.bootstrap.config_ref.kind)
    if scope.infrastructure_missing:
        missing.append(spec.infrastructure_ref.kind)
    if not missing:
        return ""
    return f"{' and '.join(missing)} {'do' if len(missing) > 1 else 'does'} not exist"


def update_status_v1beta1(scope: MachineSetScope) -> None:
    """Write counters and conditions, after the counters of the stored version.

    A healthy and silent Machine is Available, so its Node has been ready for long enough.
    """
    machine_set, machines, now = scope.machine_set, scope.machines, scope.now
    if machines is None or machine_set.spec.replicas is None:
        return
    legacy = v1beta1.conditions_of(machine_set)
    _count_v1beta1(scope, machines)
    v1beta1.set_condition(legacy, scope.not_created, now)
    v1beta1.set_condition(legacy, _resized_condition(machine_set), now)
    if len(machines) >= _desired_replicas(machine_set):
        v1beta1.set_condition(legacy, v1beta1.true(V1Beta1Type.MACHINES_CREATED), now)
    v1beta1.set_condition(legacy, _machines_ready_v1beta1(scope.aggregation_input), now)
    v1beta1.set_condition(legacy, v1beta1.summary(legacy, _SUMMARIZED), now)


def _count_v1beta1(scope: MachineSetScope, machines: Sequence[Machine]) -> None:
    status = scope.machine_set.status.deprecated
    assert status is not None
    assert status.v1beta1 is not None
    template = scope.machine_set.spec.template
    labels = template.metadata.labels.items()
    aggregation = scope.aggregation_input
    ready = [machine for machine in aggregation.noteworthy if _ready_since(machine) is not None]
    patience = timedelta(seconds=template.spec.min_ready_seconds or 0)
    counters = status.v1beta1
    counters.fully_labeled_replicas = sum(
        labels <= machine.metadata.labels.items() for machine in machines
    )
    counters.ready_replicas = aggregation.ready_count + len(ready)
    counters.available_replicas = aggregation.ready_count + sum(
        not patience or moment(_ready_since(item) or "") + patience <= scope.now for item in ready
    )


def _ready_since(machine: Machine) -> str | None:
    """Return since when the Machine's Node has been ready; None if it is not."""
    result = get(machine.status.conditions, ConditionType.NODE_READY)
    if machine.status.node_ref is None or result is None or result.status != TRUE:
        return None
    return result.last_transition_time


def _resized_condition(machine_set: MachineSet) -> V1Beta1Condition | None:
    """Return the condition Resized with the current and desired replicas. It is True if all
    existing Machines have ready Nodes, None to leave it unchanged.
    """
    of, status = V1Beta1Type.RESIZED, machine_set.status
    current, desired = status.replicas or 0, _desired_replicas(machine_set)
    if current < desired:
        message = f"Scaling up MachineSet to {desired} replicas (actual {current})"
        return v1beta1.false(of, V1Beta1Reason.SCALING_UP, v1beta1.WARNING, message)
    if current > desired:
        message = f"Scaling down MachineSet to {desired} replicas (actual {current})"
        return v1beta1.false(of, V1Beta1Reason.SCALING_DOWN, v1beta1.WARNING, message)
    counters = None if status.deprecated is None else status.deprecated.v1beta1
    return v1beta1.true(of) if counters is not None and counters.ready_replicas == current else None


def _machines_ready_v1beta1(machines: AggregationInput) -> V1Beta1Condition | None:
    """Return the condition MachinesReady, aggregated from the Ready conditions of the Machines; its
    reason names one of them.
    """
    of, kind = V1Beta1Type.MACHINES_READY, Machine.RESOURCE.kind
    if not machines.representatives:
        return v1beta1.true(of)
    sources = [(_ready(item), kind, item.metadata.name) for item in machines.noteworthy]
    return v1beta1.aggregate(sources, of, ready=machines.ready_count)


def _ready(machine: Machine) -> V1Beta1Condition | None:
    deprecated = machine.status.deprecated
    if deprecated is None or deprecated.v1beta1 is None:
        return None
    return v1beta1.get(deprecated.v1beta1.conditions, V1Beta1Type.READY)
