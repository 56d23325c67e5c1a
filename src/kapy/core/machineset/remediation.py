"""Phase: replace Machines that a health check marked, within the allowed number.

A MachineHealthCheck marks a Machine as unhealthy (`HealthCheckSucceeded`) and asks its owner to
replace it (`OwnerRemediated`); this phase reports progress in the second condition. Replacing means
deleting: `reconcile` creates the missing Machine.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

from kapy.api.condition import V1Beta1Condition
from kapy.api.machine import Machine
from kapy.api.names import Annotation, ConditionType, Reason
from kapy.api.names_v1beta1 import V1Beta1Reason, V1Beta1Type
from kapy.api.times import moment
from kapy.conditions import v1beta1
from kapy.conditions.change import delete_condition, set_condition
from kapy.conditions.lookup import FALSE, TRUE, false, get, is_false, is_true
from kapy.conditions.machines import is_to_be_remediated
from kapy.core.machineset.machines import delete_machine
from kapy.core.machineset.preflight import run_checks
from kapy.core.machineset.scope import MachineSetScope
from kapy.engine.draft import Draft
from kapy.engine.result import DONE, Result
from kapy.kube.errors import KapyError
from kapy.kube.int_or_percent import scaled_value

ROLLOUT_MESSAGE: Final = "Machine won't be remediated because it is pending removal due to rollout"
LEGACY_MARK: Final = V1Beta1Type.OWNER_REMEDIATED


async def remediate(scope: MachineSetScope) -> Result:
    """Delete the Machines to be replaced, or report on them why that has to wait."""
    if scope.machines is None:
        return DONE
    present = [item for item in scope.checked if not item.deleting]
    for machine in present:
        if _has_recovered(machine):
            await _clear_remediation(scope, machine)
    marked = [item for item in present if is_to_be_remediated(item)]
    if not marked:
        return DONE
    if not scope.is_current:  # all its Machines will be replaced anyway
        await _report(scope, marked, Reason.CANNOT_BE_REMEDIATED, ROLLOUT_MESSAGE)
        return DONE
    now, later = _select(scope, marked)
    await _report(scope, later, Reason.REMEDIATION_DEFERRED, _limit_message(scope))
    return await _replace(scope, now) if now else DONE


async def _replace(scope: MachineSetScope, machines: Sequence[Machine]) -> Result:
    checks = await run_checks(scope, "Machine remediation")
    if checks.failures:
        message = "\n".join(f"* {failure}" for failure in checks.failures)
        waiting = v1beta1.false(
            LEGACY_MARK,
            V1Beta1Reason.WAITING_FOR_REMEDIATION,
            v1beta1.WARNING,
            "; ".join(checks.failures),
        )
        await _report(scope, machines, Reason.REMEDIATION_DEFERRED, message, waiting)
        if checks.failure is not None:
            raise checks.failure
        return DONE  # a change of the control plane enqueues the set
    # The condition first: this phase skips a Machine in deletion, which would never get it.
    done = v1beta1.true(LEGACY_MARK)
    await _report(scope, machines, Reason.MACHINE_DELETING, "Machine is deleting", done)
    failures: list[Exception] = []
    for machine in machines:
        try:
            await delete_machine(scope, machine)
        except KapyError as error:
            failures.append(error)
    if failures:
        raise ExceptionGroup("failed to delete unhealthy Machines", failures)
    return DONE


def _select(
    scope: MachineSetScope, marked: Sequence[Machine]
) -> tuple[Sequence[Machine], Sequence[Machine]]:
    """Split into Machines to replace now, and those that have to wait."""
    room = max(_max_in_flight(scope) - sum(map(_is_in_flight, scope.machines or ())), 0)
    ordered = sort_for_remediation(marked)
    return ordered[:room], ordered[room:]


def sort_for_remediation(machines: Sequence[Machine]) -> list[Machine]:
    """Sort Machines by the order of their remediation: first those that a user marked, then the
    newest, since a Machine that never came up is the least likely to run workloads.
    """
    by_name = sorted(machines, key=lambda machine: machine.metadata.name)
    by_name.sort(key=_creation_time, reverse=True)
    return sorted(
        by_name, key=lambda machine: Annotation.REMEDIATE_MACHINE not in _annotations(machine)
    )


def _creation_time(machine: Machine) -> float:
    timestamp = machine.metadata.creation_timestamp
    return 0.0 if timestamp is None else moment(timestamp).timestamp()


def _annotations(machine: Machine) -> dict[str, str]:
    return machine.metadata.annotations


def _max_in_flight(scope: MachineSetScope) -> int:
    """Return how many remediated Machines may be in deletion; raises InvalidIntOrPercent."""
    deployment = scope.deployment
    if deployment is None or deployment.spec.remediation.max_in_flight is None:
        return sys.maxsize
    replicas = 1 if deployment.spec.replicas is None else deployment.spec.replicas
    return scaled_value(deployment.spec.remediation.max_in_flight, replicas, round_up=True)


def _is_in_flight(machine: Machine) -> bool:
    """Return whether the Machine was deleted for remediation and is not gone yet."""
    condition = get(machine.status.conditions, ConditionType.OWNER_REMEDIATED)
    return (
        machine.deleting
        and condition is not None
        and condition.status == FALSE
        and condition.reason == Reason.MACHINE_DELETING
    )


def _limit_message(scope: MachineSetScope) -> str:
    limit = scope.deployment.spec.remediation.max_in_flight if scope.deployment else None
    return (
        "Waiting because there are already too many remediations in progress "
        f"(spec.strategy.remediation.maxInFlight is {limit})"
    )


def _has_recovered(machine: Machine) -> bool:
    conditions = machine.status.conditions
    if is_true(conditions, ConditionType.HEALTH_CHECK_SUCCEEDED) and is_false(
        conditions, ConditionType.OWNER_REMEDIATED
    ):
        return True
    return _old_status(machine, V1Beta1Type.HEALTH_CHECK_SUCCEEDED) == TRUE and (
        _old_status(machine, LEGACY_MARK) == FALSE
    )


def _old_status(machine: Machine, type_: str) -> str:
    deprecated = machine.status.deprecated
    if deprecated is None or deprecated.v1beta1 is None:
        return ""
    beta1_condition = v1beta1.get(deprecated.v1beta1.conditions, type_)
    return "" if beta1_condition is None else beta1_condition.status


async def _clear_remediation(scope: MachineSetScope, machine: Machine) -> None:
    """Withdraw the remediation of a Machine that is healthy again."""
    draft = _draft(scope, machine)
    mine = draft.object
    if is_true(mine.status.conditions, ConditionType.HEALTH_CHECK_SUCCEEDED):
        delete_condition(mine, ConditionType.OWNER_REMEDIATED)
    if _old_status(mine, V1Beta1Type.HEALTH_CHECK_SUCCEEDED) == TRUE:
        v1beta1.delete_condition(v1beta1.conditions_of(mine), LEGACY_MARK)
    await draft.save()
    scope.update_machine(draft.before)


async def _report(
    scope: MachineSetScope,
    machines: Sequence[Machine],
    reason: str,
    message: str,
    old: V1Beta1Condition | None = None,
) -> None:
    """Report the progress of the remediation on Machines."""
    for machine in machines:
        draft = _draft(scope, machine)
        condition = false(ConditionType.OWNER_REMEDIATED, reason, message)
        set_condition(draft.object, condition, scope.now)
        if old is not None:
            v1beta1.set_condition(v1beta1.conditions_of(draft.object), old, scope.now)
        if await draft.save():
            scope.update_machine(draft.before)


def _draft(scope: MachineSetScope, machine: Machine) -> Draft[Machine]:
    return Draft(scope.dependencies.client, Machine, scope.documents[machine.metadata.name])
