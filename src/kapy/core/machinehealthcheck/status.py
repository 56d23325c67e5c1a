"""The counters and conditions of a MachineHealthCheck, and its limits on remediation
(`spec.remediation.triggerIf`; pure functions).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from kapy.api.health_check import RemediationTrigger
from kapy.api.names import ConditionType, Reason
from kapy.api.names_v1beta1 import V1Beta1Reason, V1Beta1Type
from kapy.conditions import v1beta1
from kapy.conditions.change import set_condition
from kapy.conditions.lookup import false, true
from kapy.core.machinehealthcheck.checks import Healthy, Unhealthy
from kapy.core.machinehealthcheck.scope import HealthScope
from kapy.kube.errors import KapyError
from kapy.kube.int_or_percent import InvalidIntOrPercent, scaled_value

_REMEDIATION_ALLOWED = ConditionType.REMEDIATION_ALLOWED
_ALL: Final = "100%"


class BadLimit(KapyError):
    """A limit is invalid; the message says why."""


class Allowance(NamedTuple):
    """Whether remediation is allowed, and for how many more Machines."""

    allowed: bool
    remediations: int


def count(scope: HealthScope) -> None:
    """Set the watched Machines and the number of healthy ones."""
    status = scope.check.status
    status.targets = sorted(target.machine.metadata.name for target, _ in scope.findings)
    status.expected_machines = len(scope.findings)
    status.current_healthy = sum(isinstance(item, Healthy) for _, item in scope.findings)


def unhealthy(scope: HealthScope) -> int:
    """Return how many Machines are known to be unhealthy."""
    return sum(isinstance(item, Unhealthy) for _, item in scope.findings)


def decide(scope: HealthScope) -> tuple[Allowance, bool]:
    """Return whether remediation is allowed, which the status reports; and whether that changed."""
    check, status = scope.check, scope.check.status
    trigger = check.spec.remediation.trigger_if
    expected, healthy = status.expected_machines or 0, status.current_healthy or 0
    reason, message = Reason.TOO_MANY_UNHEALTHY, ""
    try:
        results = allowance(trigger, expected, healthy)
    except BadLimit as error:
        # Only another limit helps, and that change enqueues the health check.
        results, reason, message = (
            Allowance(allowed=False, remediations=0),
            Reason.INTERNAL_ERROR,
            str(error),
        )
    status.remediations_allowed = results.remediations
    if results.allowed:
        return results, _allow(scope)
    return results, _refuse(scope, reason, message or refusal(trigger, expected, unhealthy(scope)))


def _allow(scope: HealthScope) -> bool:
    legacy = v1beta1.true(V1Beta1Type.REMEDIATION_ALLOWED)
    v1beta1.set_condition(v1beta1.conditions_of(scope.check), legacy, scope.now)
    return set_condition(
        scope.check, true(_REMEDIATION_ALLOWED, Reason.REMEDIATION_ALLOWED), scope.now
    )


def _refuse(scope: HealthScope, reason: str, message: str) -> bool:
    legacy = v1beta1.false(
        V1Beta1Type.REMEDIATION_ALLOWED,
        V1Beta1Reason.TOO_MANY_UNHEALTHY,
        v1beta1.WARNING,
        message,
    )
    v1beta1.set_condition(v1beta1.conditions_of(scope.check), legacy, scope.now)
    return set_condition(scope.check, false(_REMEDIATION_ALLOWED, reason, message), scope.now)


def allowance(trigger: RemediationTrigger, expected: int, healthy: int) -> Allowance:
    """Return whether remediation is allowed, and for how many more Machines. expected: the number
    of watched Machines. A Machine that has not started counts as unhealthy.

    A range takes precedence over the limit; without either there is no limit. Raises BadLimit.
    """
    unhealthy = expected - healthy
    if trigger.unhealthy_in_range:
        lowest, highest = _range(trigger.unhealthy_in_range)
        return _allowance(highest - unhealthy, allowed=lowest <= unhealthy <= highest)
    try:
        limit = scaled_value(_limit(trigger), expected, round_up=False)
    except InvalidIntOrPercent as error:
        raise BadLimit(f"unhealthyLessThanOrEqualTo: {error}") from None
    return _allowance(limit - unhealthy, allowed=unhealthy <= limit)


def refusal(trigger: RemediationTrigger, expected: int, unhealthy: int) -> str:
    """Return the reason for which remediation is not allowed. unhealthy: the number of unhealthy
    Machines without those that have not started.
    """
    counts = f"(total: {expected}, unhealthy: {unhealthy}"
    subject = "Remediation is not allowed, the number of not started or unhealthy machines"
    if trigger.unhealthy_in_range:
        range_ = f"unhealthyRange: {trigger.unhealthy_in_range})"
        return f"{subject} does not fall within the range {counts}, {range_}"
    return f"{subject} exceeds maxUnhealthy {counts}, maxUnhealthy: {_limit(trigger)})"


def _allowance(remaining: int, *, allowed: bool) -> Allowance:
    return Allowance(allowed, remaining if allowed else 0)


def _limit(trigger: RemediationTrigger) -> int | str:
    limit = trigger.unhealthy_less_than_or_equal_to
    return _ALL if limit is None else limit


def _range(text: str) -> tuple[int, int]:
    lowest, _, highest = text.strip("[]").partition("-")
    try:
        results = int(lowest), int(highest)
    except ValueError:
        raise BadLimit(f"unhealthyInRange {text} is no range like [3-5]") from None
    if results[1] < results[0]:
        raise BadLimit(
            f"max value {results[1]} cannot be less than min value {results[0]} for unhealthyRange"
        )
    return results
