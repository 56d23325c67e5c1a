"""Health checks of Machines."""

from __future__ import annotations

from typing import Final

from kapy.api.validation.rollout import int_or_percent_errors
from kapy.kube.field_errors import FieldError, invalid

LEAST_STARTUP_SECONDS: Final = 30
"""Nothing becomes a Node faster; 0 is no limit at all."""


def startup_timeout_errors(seconds: int | None, path: str) -> list[FieldError]:
    """path: where the health check stands."""
    if not seconds or seconds >= LEAST_STARTUP_SECONDS:
        return []
    where = f"{path}.checks.nodeStartupTimeoutSeconds"
    return [invalid(where, seconds, f"must be at least {LEAST_STARTUP_SECONDS}s")]


def trigger_errors(unhealthy: int | str | None, path: str) -> list[FieldError]:
    """path: where the health check stands."""
    return int_or_percent_errors(
        f"{path}.remediation.triggerIf.unhealthyLessThanOrEqualTo", unhealthy
    )
