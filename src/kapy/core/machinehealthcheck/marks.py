"""The conditions that a MachineHealthCheck sets on a Machine: its health, and the requested
remediation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from kapy.api.condition import Condition, V1Beta1Condition
from kapy.api.machine import Machine
from kapy.api.names import ConditionType, Reason
from kapy.api.names_v1beta1 import V1Beta1Reason, V1Beta1Type
from kapy.conditions import v1beta1
from kapy.conditions.change import set_condition
from kapy.conditions.lookup import TRUE, false, get, true
from kapy.core.machinehealthcheck.checks import Healthy, Target, Undecided, Unhealthy, Verdict
from kapy.core.machinehealthcheck.scope import HealthScope
from kapy.engine.draft import Draft
from kapy.kube.errors import NotFound

SUCCEEDED: Final = ConditionType.HEALTH_CHECK_SUCCEEDED
REMEDIATED: Final = ConditionType.OWNER_REMEDIATED


class Marks(NamedTuple):
    """Conditions to write, including those of v1beta1."""

    conditions: Sequence[Condition] = ()
    legacy: Sequence[V1Beta1Condition] = ()


_HEALTHY: Final = Marks(
    (true(SUCCEEDED, Reason.HEALTH_CHECK_SUCCEEDED),),
    (v1beta1.true(V1Beta1Type.HEALTH_CHECK_SUCCEEDED),),
)


def health_marks(verdict: Verdict) -> Marks:
    """Return the health conditions; none while the health is unknown."""
    match verdict:
        case Undecided():
            return Marks()
        case Healthy():
            return _HEALTHY
        case Unhealthy(reason, message, legacy_reason, legacy_message):
            legacy = v1beta1.false(
                V1Beta1Type.HEALTH_CHECK_SUCCEEDED, legacy_reason, v1beta1.WARNING, legacy_message
            )
            return Marks((false(SUCCEEDED, reason, message),), (legacy,))


def owner_marks(machine: Machine) -> Marks:
    """Return the request that the owner replaces the Machine. It is set once until it is fulfilled;
    the owner reports the progress.
    """
    if machine.deleting:
        return Marks()
    conditions, legacy = list[Condition](), list[V1Beta1Condition]()
    condition = get(machine.status.conditions, REMEDIATED)
    if condition is None or condition.status == TRUE:
        reason = Reason.WAITING_FOR_REMEDIATION
        conditions.append(false(REMEDIATED, reason, "Waiting for remediation"))
    old = v1beta1.get(_legacy_of(machine), V1Beta1Type.OWNER_REMEDIATED)
    if old is None or old.status == TRUE:
        reason = V1Beta1Reason.WAITING_FOR_REMEDIATION
        legacy.append(v1beta1.false(V1Beta1Type.OWNER_REMEDIATED, reason, v1beta1.WARNING))
    return Marks(conditions, legacy)


async def mark(scope: HealthScope, target: Target, *marks: Marks) -> bool:
    """Write missing conditions; return True if there were any. A deleted Machine needs none."""
    if all(_is_marked(target.machine, element) for element in marks):
        return False
    draft = Draft(scope.dependencies.client, Machine, target.document)
    for entry in marks:
        for condition in entry.conditions:
            set_condition(draft.object, condition, scope.now)
        for legacy in entry.legacy:
            v1beta1.set_condition(v1beta1.conditions_of(draft.object), legacy, scope.now)
    try:
        return await draft.save()
    except NotFound:
        return False


def _is_marked(machine: Machine, marks: Marks) -> bool:
    """Return whether the Machine has the conditions for its current generation."""
    status, generation = machine.status, machine.metadata.generation or None
    for wanted in marks.conditions:
        condition = get(status.conditions, wanted.type)
        if (
            condition is None
            or condition.observed_generation != generation
            or not _equal(condition, wanted)
        ):
            return False
    for old in marks.legacy:
        present = v1beta1.get(_legacy_of(machine), old.type)
        if present is None or present.severity != old.severity or not _equal(present, old):
            return False
    return True


def _equal(left: Condition | V1Beta1Condition, right: Condition | V1Beta1Condition) -> bool:
    return (
        left.status == right.status
        and left.reason == right.reason
        and left.message == right.message
    )


def _legacy_of(machine: Machine) -> Sequence[V1Beta1Condition]:
    """Return the v1beta1 conditions of a shared Machine, which must not be changed."""
    deprecated = machine.status.deprecated
    if deprecated is None or deprecated.v1beta1 is None:
        return ()
    return deprecated.v1beta1.conditions
