"""MachineHealthCheck."""

from __future__ import annotations

from typing import Final

from kapy.api.features import FeatureGates
from kapy.api.machine_health_check import MachineHealthCheck
from kapy.api.names import Label
from kapy.api.validation.health_check import health_check_errors
from kapy.api.validation.selectors import format_selector, parse_selector
from kapy.kube.field_errors import FieldError, forbidden, invalid, required

_SELECTOR: Final = "spec.selector"


def machine_health_check_errors(
    check: MachineHealthCheck, old: MachineHealthCheck | None, _: FeatureGates
) -> list[FieldError]:
    """Return the errors of a MachineHealthCheck."""
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
