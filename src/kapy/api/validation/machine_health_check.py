"""Validation of MachineHealthChecks, and of the health checks in classes and topologies."""

from __future__ import annotations

from typing import Final

from kapy.api.features import FeatureGates
from kapy.api.health_check import HealthChecks, RemediationTrigger
from kapy.api.machine_health_check import MachineHealthCheck
from kapy.api.names import Label
from kapy.api.validation.machine_fields import int_or_percent_errors
from kapy.api.validation.metadata import format_selector, parse_selector
from kapy.kube.field_errors import FieldError, forbidden, invalid, required

LEAST_STARTUP_SECONDS: Final = 30
"""No machine becomes a Node faster; 0 means no limit."""


_SELECTOR: Final = "spec.selector"


def health_check_errors(
    checks: HealthChecks, trigger: RemediationTrigger, path: str
) -> list[FieldError]:
    """Return the validation errors of a health check. path: the path of the health check."""
    errors = []
    seconds = checks.node_startup_timeout_seconds
    if seconds and seconds < LEAST_STARTUP_SECONDS:
        where = f"{path}.checks.nodeStartupTimeoutSeconds"
        errors.append(invalid(where, seconds, f"must be at least {LEAST_STARTUP_SECONDS}s"))
    where = f"{path}.remediation.triggerIf.unhealthyLessThanOrEqualTo"
    return errors + int_or_percent_errors(where, trigger.unhealthy_less_than_or_equal_to)


def machine_health_check_errors(
    check: MachineHealthCheck, old: MachineHealthCheck | None, _: FeatureGates
) -> list[FieldError]:
    """Return the validation errors of a MachineHealthCheck."""
    spec = check.spec
    errors = _selector_errors(check)
    if old is not None and old.spec.cluster_name != spec.cluster_name:
        errors.append(forbidden("spec.clusterName", "field is immutable"))
    return errors + health_check_errors(spec.checks, spec.remediation.trigger_if, "spec")


def _selector_errors(check: MachineHealthCheck) -> list[FieldError]:
    selector = check.spec.selector
    parsed, errors = parse_selector(selector, _SELECTOR)
    if parsed is not None and parsed.everything:
        errors.append(required(_SELECTOR, "selector must not be empty"))
    cluster = selector.match_labels.get(Label.CLUSTER_NAME)
    if cluster is not None and cluster != check.spec.cluster_name:
        problem = "cannot specify a cluster selector other than the one specified by ClusterName"
        errors.append(invalid(_SELECTOR, format_selector(selector), problem))
    return errors
