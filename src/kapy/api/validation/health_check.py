"""Health checks of Machines."""

from __future__ import annotations

from typing import Final

from kapy.api.health_check import HealthChecks, RemediationTrigger
from kapy.api.validation.rollout import int_or_percent_errors
from kapy.kube.field_errors import FieldError, invalid

LEAST_STARTUP_SECONDS: Final = 30
"""No machine becomes a Node faster; 0 means no limit."""


def health_check_errors(
    checks: HealthChecks, trigger: RemediationTrigger, path: str
) -> list[FieldError]:
    """Return the errors of a health check. path: of the health check."""
    errors = []
    seconds = checks.node_startup_timeout_seconds
    if seconds and seconds < LEAST_STARTUP_SECONDS:
        where = f"{path}.checks.nodeStartupTimeoutSeconds"
        errors.append(invalid(where, seconds, f"must be at least {LEAST_STARTUP_SECONDS}s"))
    where = f"{path}.remediation.triggerIf.unhealthyLessThanOrEqualTo"
    return errors + int_or_percent_errors(where, trigger.unhealthy_less_than_or_equal_to)
