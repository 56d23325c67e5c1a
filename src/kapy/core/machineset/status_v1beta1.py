"""The v1beta1 conditions and counters of a MachineSet (`status.deprecated.v1beta1`; pure
functions).

Machines are counted by their Nodes: ready if the Node is ready, available if it has been ready for
`minReadySeconds`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from kapy.api.condition import V1Beta1Condition
from kapy.api.machine import Machine
from kapy.api.machine_set import MachineSet
from kapy.api.names import ConditionType
from kapy.api.names_v1beta1 import V1Beta1Reason, V1Beta1Type
from kapy.api.times import moment
from kapy.conditions import v1beta1
from kapy.conditions.aggregation_input import AggregationInput
from kapy.conditions.lookup import TRUE, get
from kapy.core.machineset.scope import MachineSetScope

SUMMARIZED: Final = (V1Beta1Type.MACHINES_CREATED, V1Beta1Type.RESIZED, V1Beta1Type.MACHINES_READY)


def update_status_v1beta1(scope: MachineSetScope) -> None:
    """Write counters and conditions, after the counters of the stored version.

    A healthy and silent Machine is Available, so its Node has been ready for long enough.
    """
    machine_set, machines, now = scope.machine_set, scope.machines, scope.now
    if machines is None or machine_set.spec.replicas is None:
        return
    legacy = v1beta1.conditions_of(machine_set)
    _count(scope, machines)
    v1beta1.set_condition(legacy, scope.not_created, now)
    v1beta1.set_condition(legacy, resized_condition(machine_set), now)
    if len(machines) >= _desired_replicas(machine_set):
        v1beta1.set_condition(legacy, v1beta1.true(V1Beta1Type.MACHINES_CREATED), now)
    v1beta1.set_condition(legacy, machines_ready(scope.aggregation_input), now)
    v1beta1.set_condition(legacy, v1beta1.summary(legacy, SUMMARIZED), now)


def _count(scope: MachineSetScope, machines: Sequence[Machine]) -> None:
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


def resized_condition(machine_set: MachineSet) -> V1Beta1Condition | None:
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


def machines_ready(machines: AggregationInput) -> V1Beta1Condition | None:
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


def _desired_replicas(machine_set: MachineSet) -> int:
    return 0 if machine_set.deleting else machine_set.spec.replicas or 0
