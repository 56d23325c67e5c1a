"""The counters and conditions of a MachineHealthCheck (pure functions)."""

from __future__ import annotations

from kapy.api.names import ConditionType, Reason
from kapy.api.names_v1beta1 import V1Beta1Reason, V1Beta1Type
from kapy.conditions import v1beta1
from kapy.conditions.change import set_condition
from kapy.conditions.lookup import false, true
from kapy.core.machinehealthcheck.checks import Healthy, Unhealthy
from kapy.core.machinehealthcheck.limits import Allowance, BadLimit, allowance, refusal
from kapy.core.machinehealthcheck.scope import HealthScope

REMEDIATION_ALLOWED = ConditionType.REMEDIATION_ALLOWED


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
        scope.check, true(REMEDIATION_ALLOWED, Reason.REMEDIATION_ALLOWED), scope.now
    )


def _refuse(scope: HealthScope, reason: str, message: str) -> bool:
    legacy = v1beta1.false(
        V1Beta1Type.REMEDIATION_ALLOWED,
        V1Beta1Reason.TOO_MANY_UNHEALTHY,
        v1beta1.WARNING,
        message,
    )
    v1beta1.set_condition(v1beta1.conditions_of(scope.check), legacy, scope.now)
    return set_condition(scope.check, false(REMEDIATION_ALLOWED, reason, message), scope.now)
