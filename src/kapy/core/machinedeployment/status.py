"""The counters, the conditions and the phase of a MachineDeployment, and its v1beta1 status in
`status.deprecated.v1beta1` (pure functions).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final

from kapy.api.condition import Condition, V1Beta1Condition
from kapy.api.machine_deployment import MachineDeployment, MachineDeploymentStatus
from kapy.api.machine_set import MachineSet, MachineSetV1Beta1DeprecatedStatus
from kapy.api.names import ConditionType, Reason
from kapy.api.names_v1beta1 import V1Beta1Reason, V1Beta1Type
from kapy.api.versions import sum_by_version
from kapy.api.wording import LOOK_AT_LOGS
from kapy.conditions import v1beta1
from kapy.conditions.aggregation_input import AggregationInput
from kapy.conditions.change import set_condition
from kapy.conditions.lookup import FALSE, false, get, true, unknown
from kapy.conditions.machines import machines_ready, machines_up_to_date, remediating
from kapy.conditions.paused import paused_condition
from kapy.conditions.stale import stale_machines
from kapy.core.machinedeployment.rollout import (
    existing_replicas,
    is_rolling,
    max_unavailable,
    replicas,
    strategy_of,
)
from kapy.core.machinedeployment.scope import MachineDeploymentScope
from kapy.kube.model import encode
from kapy.kube.selectors import selector_of

_NOT_REMEDIATED_HERE: Final = "not to be remediated by MachineDeployment/MachineSet"
_NO_STATUS: Final = MachineSetV1Beta1DeprecatedStatus()


def update_status(scope: MachineDeploymentScope) -> None:
    """Write counters, phase and conditions to the MachineDeployment's status."""
    deployment, sets = scope.deployment, scope.machine_sets
    deployment.status.selector = str(selector_of(encode(deployment.spec.selector)))
    if sets is not None:
        count(deployment.status, sets)
    deployment.status.phase = phase(deployment, sets)
    for condition in conditions(scope):
        set_condition(deployment, condition, scope.now)


def count(status: MachineDeploymentStatus, sets: Sequence[MachineSet]) -> None:
    """Set the replica counters to the sums over all sets; a sum over no sets is None."""
    status.replicas = _sum(sets, lambda machine_set: machine_set.status.replicas)
    status.ready_replicas = _sum(sets, lambda machine_set: machine_set.status.ready_replicas)
    status.available_replicas = _sum(
        sets, lambda machine_set: machine_set.status.available_replicas
    )
    status.up_to_date_replicas = _sum(
        sets, lambda machine_set: machine_set.status.up_to_date_replicas
    )
    status.versions = sum_by_version(
        version for machine_set in sets for version in machine_set.status.versions
    )


def _sum(sets: Iterable[MachineSet], number: Callable[[MachineSet], int | None]) -> int | None:
    numbers = [result for result in map(number, sets) if result is not None]
    return sum(numbers) if numbers else None


def phase(deployment: MachineDeployment, sets: Sequence[MachineSet] | None) -> str:
    """Return the value for the MachineDeployment's `status.phase`."""
    if sets is None or deployment.spec.replicas is None:
        return "Unknown"
    current = sum(map(existing_replicas, sets))
    if deployment.deleting or current > deployment.spec.replicas:
        return "ScalingDown"
    return "Running" if current == deployment.spec.replicas else "ScalingUp"


def conditions(scope: MachineDeploymentScope) -> Iterator[Condition]:
    """All conditions that this controller owns."""
    aggregation = scope.aggregation_input
    yield paused_condition(scope.deployment, scope.cluster)
    yield available(scope)
    yield rolling_out(aggregation, scope.undecided)
    yield scaling_up(scope)
    yield scaling_down(scope)
    yield machines_ready(aggregation.representatives)
    yield machines_up_to_date(aggregation, scope.now)
    yield remediating(aggregation.representatives, _NOT_REMEDIATED_HERE)
    yield deleting(scope)


def available(scope: MachineDeploymentScope) -> Condition:
    """Return the condition Available: whether at most `maxUnavailable` Machines are unavailable."""
    of, deployment = ConditionType.AVAILABLE, scope.deployment
    if (condition := _unknown_condition(scope, of)) is not None:
        return condition
    result, replicas = deployment.status.available_replicas, deployment.spec.replicas or 0
    if result is None:
        reason = Reason.WAITING_FOR_AVAILABLE_REPLICAS_SET
        return unknown(of, reason, "Waiting for status.availableReplicas set")
    least = replicas - max_unavailable(deployment)
    if result >= least:
        return true(of, Reason.AVAILABLE)
    message = f"{result} available replicas, at least {least} required"
    if deployment.deleting:
        message = "Deletion in progress"
    elif is_rolling(deployment):
        tolerated = strategy_of(deployment).rolling_update.max_unavailable
        message += (
            f" (spec.strategy.rollout.maxUnavailable is {tolerated}, spec.replicas is {replicas})"
        )
    return false(of, Reason.NOT_AVAILABLE, message)


def rolling_out(machines: AggregationInput, undecided: str = "") -> Condition:
    """Return the condition RollingOut with the number of outdated Machines and the reasons; a new
    version is named first.

    undecided: the reason for which it is not known yet how the other Machines are updated.
    """
    of = ConditionType.ROLLING_OUT
    conditions = [
        get(machine.status.conditions, ConditionType.UP_TO_DATE)
        for machine in machines.representatives
    ]
    outdated = [
        condition for condition in conditions if condition is not None and condition.status == FALSE
    ]
    if not outdated:
        return false(of, Reason.NOT_ROLLING_OUT)
    reasons = {line for item in outdated if item.message for line in item.message.split("\n")}
    lines = sorted(reasons, key=lambda line: (not line.startswith("* Version"), line))
    if undecided:
        lines.append(f"* {undecided}")
    count = len(outdated) + sum(len(group.others) for group in machines.outdated)
    message = f"Rolling out {count} not up-to-date replicas"
    return true(of, Reason.ROLLING_OUT, "\n".join([message, *lines]))


def scaling_up(scope: MachineDeploymentScope) -> Condition:
    """Return the condition ScalingUp with the current and desired replicas, and with what blocks
    it.
    """
    of, deployment = ConditionType.SCALING_UP, scope.deployment
    if (condition := _unknown_condition(scope, of)) is not None:
        return condition
    current, desired = _current(scope), _desired_replicas(deployment)
    missing = ""
    if scope.missing:
        verb = "do" if len(scope.missing) > 1 else "does"
        missing = f"because {' and '.join(scope.missing)} {verb} not exist"
    elif scope.broken:
        missing = f"because {scope.broken}"
    if current >= desired:
        message = ""
        if missing and not deployment.deleting:
            message = f"Scaling up would be blocked {missing}"
        return false(of, Reason.NOT_SCALING_UP, message)
    message = f"Scaling up from {current} to {desired} replicas"
    if missing:
        message += f" is blocked {missing}"
    return true(of, Reason.SCALING_UP, message)


def scaling_down(scope: MachineDeploymentScope) -> Condition:
    """Return the condition ScalingDown with the current and desired replicas, and with the Machines
    whose deletion takes long.
    """
    of = ConditionType.SCALING_DOWN
    if (condition := _unknown_condition(scope, of)) is not None:
        return condition
    current, desired = _current(scope), _desired_replicas(scope.deployment)
    if current <= desired:
        return false(of, Reason.NOT_SCALING_DOWN)
    message = f"Scaling down from {current} to {desired} replicas"
    return true(of, Reason.SCALING_DOWN, _with_stale(message, scope))


def deleting(scope: MachineDeploymentScope) -> Condition:
    """Return the condition Deleting with the remaining objects."""
    of, sets, machines = ConditionType.DELETING, scope.machine_sets, scope.machines
    if sets is None:
        return unknown(of, Reason.INTERNAL_ERROR, LOOK_AT_LOGS)
    if not scope.deployment.deleting:
        return false(of, Reason.NOT_DELETING)
    message = "Deletion completed"
    if machines:
        message = f"Deleting {len(machines)} Machine{'s' if len(machines) > 1 else ''}"
        message = _with_stale(message, scope)
    elif sets:
        message = f"Deleting {len(sets)} MachineSets"
    return true(of, Reason.DELETING, message)


def _unknown_condition(scope: MachineDeploymentScope, of: str) -> Condition | None:
    if scope.machine_sets is None:
        return unknown(of, Reason.INTERNAL_ERROR, LOOK_AT_LOGS)
    if scope.deployment.spec.replicas is None:
        return unknown(of, Reason.WAITING_FOR_REPLICAS_SET, "Waiting for spec.replicas set")
    return None


def _with_stale(message: str, scope: MachineDeploymentScope) -> str:
    stale = stale_machines(scope.aggregation_input.noteworthy, scope.now)
    return f"{message}\n* {stale}" if stale else message


def _current(scope: MachineDeploymentScope) -> int:
    return sum(map(existing_replicas, scope.machine_sets or ()))


def _desired_replicas(deployment: MachineDeployment) -> int:
    return 0 if deployment.deleting else deployment.spec.replicas or 0


def report_rollout(
    deployment: MachineDeployment, new: MachineSet | None, sets: Sequence[MachineSet], now: datetime
) -> None:
    """Write counters and conditions after a step of a rollout.

    new: the set with the current template; sets: all sets.
    """
    legacy = v1beta1.conditions_of(deployment)
    _count_v1beta1(deployment, new, sets)
    v1beta1.set_condition(legacy, _available_v1beta1(deployment), now)
    v1beta1.set_condition(legacy, _machine_set_ready(new), now)


def summarize(deployment: MachineDeployment, now: datetime) -> None:
    """Write the condition Ready, summarized from the other conditions."""
    if deployment.status.deprecated is not None:
        legacy = v1beta1.conditions_of(deployment)
        v1beta1.set_condition(legacy, v1beta1.summary(legacy, (V1Beta1Type.AVAILABLE,)), now)


def _count_v1beta1(
    deployment: MachineDeployment, new: MachineSet | None, sets: Iterable[MachineSet]
) -> None:
    deprecated = deployment.status.deprecated
    assert deprecated is not None
    assert deprecated.v1beta1 is not None
    status, reports = (
        deprecated.v1beta1,
        [(machine_set, _deprecated_status(machine_set)) for machine_set in sets],
    )
    status.updated_replicas = 0 if new is None else existing_replicas(new)
    status.ready_replicas = sum(report.ready_replicas for _, report in reports)
    status.available_replicas = sum(report.available_replicas for _, report in reports)
    wanted = sum(replicas(machine_set) for machine_set, _ in reports)
    status.unavailable_replicas = max(wanted - status.available_replicas, 0)


def _deprecated_status(machine_set: MachineSet) -> MachineSetV1Beta1DeprecatedStatus:
    deprecated = machine_set.status.deprecated
    return (deprecated.v1beta1 if deprecated is not None else None) or _NO_STATUS


def _available_v1beta1(deployment: MachineDeployment) -> V1Beta1Condition:
    """Return the condition Available: whether at most `maxUnavailable` Machines are unavailable."""
    of, deprecated = V1Beta1Type.AVAILABLE, deployment.status.deprecated
    least = (deployment.spec.replicas or 0) - max_unavailable(deployment)
    status = deprecated.v1beta1 if deprecated is not None else None
    if status is not None and status.available_replicas >= least:
        return v1beta1.true(of)
    now = deployment.status.available_replicas or 0
    message = f"Minimum availability requires {least} replicas, current {now} available"
    reason = V1Beta1Reason.WAITING_FOR_AVAILABLE_MACHINES
    return v1beta1.false(of, reason, v1beta1.WARNING, message)


def _machine_set_ready(new: MachineSet | None) -> V1Beta1Condition | None:
    """Return the condition MachineSetReady, copied from the set with the current template."""
    of, waiting = V1Beta1Type.MACHINE_SET_READY, V1Beta1Reason.WAITING_FOR_MACHINE_SET
    if new is None:
        return v1beta1.false(of, waiting, v1beta1.INFO, "MachineSet not found")
    ready = v1beta1.get(_deprecated_status(new).conditions, V1Beta1Type.READY)
    return v1beta1.mirror(ready, of, v1beta1.false(of, waiting, v1beta1.INFO))
