"""What makes Machines unhealthy, and what happens to them: `checks` and `remediation` in v1beta2.

Cluster and ClusterClass embed it: `machineHealthCheck` became `healthCheck`.
"""

from __future__ import annotations

from kapy.api.conversion.moves import duration, put, seconds
from kapy.kube import Document


def conditions_to_hub(old: Document, name: str) -> list[Document]:
    """Conditions that make a Machine unhealthy, with timeouts in seconds."""
    return [{**one, "timeoutSeconds": seconds(one["timeout"])} for one in old.get(name) or ()]


def conditions_from_hub(new: Document, name: str) -> list[Document]:
    """The way back of `conditions_to_hub`."""
    return [
        {**one, "timeout": duration(one.get("timeoutSeconds", 0))} for one in new.get(name) or ()
    ]


def health_check_to_hub(part: Document) -> None:
    """`machineHealthCheck` of a part of a Cluster or ClusterClass becomes `healthCheck`."""
    old = part.pop("machineHealthCheck", None)
    if old is None:
        return
    new = part.setdefault("healthCheck", {})
    put(new, "enabled", old.get("enable"))
    checks_to_hub(old, new)


def checks_to_hub(old: Document, new: Document) -> None:
    """Write `checks` and `remediation` into `new`, after what `old` says."""
    checks: Document = {
        "unhealthyNodeConditions": conditions_to_hub(old, "unhealthyConditions"),
        "unhealthyMachineConditions": conditions_to_hub(old, "unhealthyMachineConditions"),
    }
    if (timeout := old.get("nodeStartupTimeout")) is not None:
        checks["nodeStartupTimeoutSeconds"] = seconds(timeout)
    new["checks"] = checks
    remediation = new.setdefault("remediation", {})
    trigger: Document = {}
    remediation["triggerIf"] = trigger
    put(trigger, "unhealthyLessThanOrEqualTo", old.get("maxUnhealthy"))
    put(trigger, "unhealthyInRange", old.get("unhealthyRange"))
    put(remediation, "templateRef", old.get("remediationTemplate"))


def health_check_from_hub(part: Document, namespace: str) -> None:
    """The way back of `health_check_to_hub`, for what is left of `healthCheck`."""
    new = part.pop("healthCheck", None)
    if not new:
        return
    old: Document = {}
    part["machineHealthCheck"] = old
    put(old, "enable", new.get("enabled"))
    checks_from_hub(new, old, namespace)


def checks_from_hub(new: Document, old: Document, namespace: str) -> None:
    """The way back of `checks_to_hub`."""
    checks, remediation = new.get("checks", {}), new.get("remediation", {})
    trigger = remediation.get("triggerIf", {})
    old["unhealthyConditions"] = conditions_from_hub(checks, "unhealthyNodeConditions")
    old["unhealthyMachineConditions"] = conditions_from_hub(checks, "unhealthyMachineConditions")
    if (timeout := checks.get("nodeStartupTimeoutSeconds")) is not None:
        old["nodeStartupTimeout"] = duration(timeout)
    put(old, "maxUnhealthy", trigger.get("unhealthyLessThanOrEqualTo"))
    put(old, "unhealthyRange", trigger.get("unhealthyInRange"))
    if template := remediation.get("templateRef"):
        old["remediationTemplate"] = {**template, "namespace": namespace}
