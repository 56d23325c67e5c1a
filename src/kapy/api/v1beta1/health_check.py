"""Structs and differences of v1beta1 for health checks and remediation of Machines."""

from typing import Annotated, Any

from msgspec import field

from kapy.api.core_v1 import ObjectReference
from kapy.api.older.difference import OldModel, Place, Row
from kapy.api.older.documents import put
from kapy.api.older.durations import duration, seconds
from kapy.api.older.rows import add, custom
from kapy.api.patterns import REPLICA_RANGE
from kapy.api.unhealthy_conditions import UnhealthyMachineConditionType
from kapy.kube import Document
from kapy.kube.model import rules

_Timeout = Annotated[
    str,
    rules(
        "timeout is the time for which the condition must have this status before the "
        "Machine is unhealthy, as a duration, for example 5m. With 0s the Machine is "
        "unhealthy at once.",
        required=True,
        form="duration",
    ),
]


class UnhealthyCondition(OldModel):
    """UnhealthyCondition is a condition status of a Node that makes the Machine of the Node
    unhealthy when it lasts.
    """

    type: Annotated[str, rules(same_as="UnhealthyNodeCondition.type", min_length=1)]
    status: Annotated[str, rules(same_as="UnhealthyNodeCondition.status", min_length=1)]
    timeout: _Timeout = "0s"


class UnhealthyMachineCondition(OldModel):
    type: Annotated[UnhealthyMachineConditionType, rules(zero="omitted")]
    status: Annotated[
        str,
        rules(enum=["True", "False", "Unknown"], zero="omitted"),
    ]
    timeout: _Timeout = "0s"


class MachineHealthCheckClass(OldModel):
    """MachineHealthCheckClass configures the MachineHealthCheck of some Machines in a
    ClusterClass.
    """

    unhealthy_conditions: Annotated[
        list[UnhealthyCondition],
        rules(same_as="HealthChecks.unhealthyNodeConditions", max_items=100),
    ] = field(default_factory=list)
    unhealthy_machine_conditions: Annotated[
        list[UnhealthyMachineCondition],
        rules(
            same_as="HealthChecks.unhealthyMachineConditions",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)
    max_unhealthy: Annotated[
        int | str | None,
        rules(
            "maxUnhealthy is the number of unhealthy Machines up to which remediation is "
            "allowed. It is an absolute number or a percentage of the selected Machines, "
            "which is rounded down. It is ignored if unhealthyRange is set. Defaults to "
            "100%."
        ),
    ] = None
    unhealthy_range: Annotated[
        str | None,
        rules(
            "unhealthyRange is the range of the number of unhealthy Machines in which "
            "remediation is allowed, for example [3-5]. Both bounds are included. It takes "
            "precedence over maxUnhealthy.",
            min_length=1,
            max_length=32,
            pattern=REPLICA_RANGE,
        ),
    ] = None
    node_startup_timeout: Annotated[
        str | None,
        rules(
            "nodeStartupTimeout is the time within which a Machine must have a Node, as a "
            "duration, for example 10m. After that it is unhealthy. With 0s there is no "
            "limit. Defaults to 10m0s.",
            form="duration",
        ),
    ] = None
    remediation_template: Annotated[
        ObjectReference | None,
        rules(same_as="Remediation.templateRef"),
    ] = None


def health_check(kind: Any, description: str) -> tuple[Row, ...]:
    """Return the rows of a part whose `healthCheck` was called `machineHealthCheck`.

    kind: its Struct in the older version.
    """
    hint = Annotated[kind | None, rules(description)]
    return add(machine_health_check=hint), custom(_upgrade, _downgrade)


def _upgraded_conditions(old: Document, name: str) -> list[Document]:
    """Return conditions that make a Machine unhealthy, with timeouts in seconds."""
    return [{**item, "timeoutSeconds": seconds(item["timeout"])} for item in old.get(name) or ()]


def _downgraded_conditions(new: Document, name: str) -> list[Document]:
    """Return conditions that make a Machine unhealthy, with timeouts as durations."""
    return [
        {**item, "timeout": duration(item.get("timeoutSeconds", 0))} for item in new.get(name) or ()
    ]


def _upgrade(part: Document, _: Document | None, __: Place) -> None:
    """Turn `machineHealthCheck` of a part of a Cluster or ClusterClass into `healthCheck`."""
    old = part.pop("machineHealthCheck", None)
    if old is None:
        return
    new = part.setdefault("healthCheck", {})
    put(new, "enabled", old.get("enable"))
    upgrade_checks(old, new)


def upgrade_checks(old: Document, new: Document) -> None:
    """Write `checks` and `remediation` of the newest version into `new`."""
    checks: Document = {
        "unhealthyNodeConditions": _upgraded_conditions(old, "unhealthyConditions"),
        "unhealthyMachineConditions": _upgraded_conditions(old, "unhealthyMachineConditions"),
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


def _downgrade(part: Document, place: Place) -> None:
    """Turn `healthCheck` into `machineHealthCheck`, after `strategy` has taken its part of it."""
    new = part.pop("healthCheck", None)
    if not new:
        return
    old: Document = {}
    part["machineHealthCheck"] = old
    put(old, "enable", new.get("enabled"))
    downgrade_checks(new, old, place.namespace)


def downgrade_checks(new: Document, old: Document, namespace: str) -> None:
    """Write the fields of the older version into `old`."""
    checks, remediation = new.get("checks", {}), new.get("remediation", {})
    trigger = remediation.get("triggerIf", {})
    old["unhealthyConditions"] = _downgraded_conditions(checks, "unhealthyNodeConditions")
    old["unhealthyMachineConditions"] = _downgraded_conditions(checks, "unhealthyMachineConditions")
    if (timeout := checks.get("nodeStartupTimeoutSeconds")) is not None:
        old["nodeStartupTimeout"] = duration(timeout)
    put(old, "maxUnhealthy", trigger.get("unhealthyLessThanOrEqualTo"))
    put(old, "unhealthyRange", trigger.get("unhealthyInRange"))
    if template := remediation.get("templateRef"):
        old["remediationTemplate"] = {**template, "namespace": namespace}
