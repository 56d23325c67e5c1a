"""Validation of MachineDrainRules."""

from __future__ import annotations

from kapy.api.features import FeatureGates
from kapy.api.machine_drain_rule import MachineDrainRule
from kapy.api.validation.metadata import selector_errors
from kapy.kube.field_errors import FieldError, invalid


def machine_drain_rule_errors(
    rule: MachineDrainRule, _: MachineDrainRule | None, __: FeatureGates
) -> list[FieldError]:
    """Return the validation errors of a MachineDrainRule."""
    errors = []
    drain = rule.spec.drain
    if drain.behavior in ("Skip", "WaitCompleted") and drain.order is not None:
        problem = 'order must not be set if drain behavior is "Skip" or "WaitCompleted"'
        errors.append(invalid("spec.drain.order", drain.order, problem))
    return errors + drain_rule_selector_errors(rule)


def drain_rule_selector_errors(rule: MachineDrainRule) -> list[FieldError]:
    """Return the errors of the selectors of a MachineDrainRule."""
    errors = []
    for number, machines in enumerate(rule.spec.machines):
        where = f"spec.machines[{number}]"
        errors += selector_errors(machines.selector, f"{where}.selector")
        errors += selector_errors(machines.cluster_selector, f"{where}.clusterSelector")
    for number, pods in enumerate(rule.spec.pods):
        where = f"spec.pods[{number}]"
        errors += selector_errors(pods.selector, f"{where}.selector")
        errors += selector_errors(pods.namespace_selector, f"{where}.namespaceSelector")
    return errors
