"""The conditions of a Machine about its Node (pure functions)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from kapy.api.cluster import Cluster
from kapy.api.condition import Condition
from kapy.api.machine import Machine
from kapy.api.names import ConditionType, Reason
from kapy.api.times import moment, stamp
from kapy.api.wording import LOOK_AT_LOGS
from kapy.conditions.lookup import FALSE, TRUE, UNKNOWN, get, has
from kapy.contract.observed import Found, Observed, Unreadable
from kapy.engine.result import DONE, Result, requeue
from kapy.kube import Document
from kapy.remote.cluster_cache import Health, NotConnected

FAILURES: Final = 5
"""Failed attempts after which a first connection counts as down rather than as yet to come."""

PRESSURES: Final = ("MemoryPressure", "DiskPressure", "PIDPressure")


@dataclass(frozen=True, slots=True)
class NodeConditionResult:
    """Status, reason and message for both Node conditions."""

    status: str
    reason: str
    message: str


def node_conditions(
    cluster: Cluster,
    machine: Machine,
    node: Observed[Document],
    health: Health,
    now: datetime,
    grace: timedelta,
) -> list[Condition]:
    """Return NodeReady and NodeHealthy; empty if the former ones are still valid.

    grace: how long the workload cluster may be unreachable before they are Unknown.
    """
    result = _without_node(cluster, machine, node, health, now, grace)
    if result is None and isinstance(node, Found):
        return [node_ready(node.view), node_healthy(node.view)]
    if result is None:
        return []
    return [
        Condition(type=item, status=result.status, reason=result.reason, message=result.message)
        for item in (ConditionType.NODE_READY, ConditionType.NODE_HEALTHY)
    ]


def until_silent(cluster: Cluster, health: Health, now: datetime, grace: timedelta) -> Result:
    """Return a timer for the end of the grace period: there is no event at that moment."""
    initialized = get(cluster.status.conditions, ConditionType.CONTROL_PLANE_INITIALIZED)
    if health.last_success is None or (health.connected and not health.failures):
        return DONE
    if initialized is None or initialized.status != TRUE:
        return DONE
    since = max(moment(initialized.last_transition_time), health.last_success)
    remaining = since + grace - now
    if remaining < timedelta(0):
        return DONE
    return requeue(after=remaining + timedelta(seconds=1), because="the cluster does not answer")


def _without_node(
    cluster: Cluster,
    machine: Machine,
    node: Observed[Document],
    health: Health,
    now: datetime,
    grace: timedelta,
) -> NodeConditionResult | None:
    """Return the result if the Node's conditions do not apply; None to use or keep them."""
    if not cluster.status.initialization.infrastructure_provisioned:
        return _waiting_for_node(
            "Waiting for Cluster status.initialization.infrastructureProvisioned to be true"
        )
    initialized = get(cluster.status.conditions, ConditionType.CONTROL_PLANE_INITIALIZED)
    if initialized is None or initialized.status != TRUE:
        return _waiting_for_node("Waiting for Cluster control plane to be initialized")
    if health.last_success is None and health.failures < FAILURES:
        return _unless_known(machine, "Remote connection not established yet")
    since = moment(initialized.last_transition_time)
    if health.last_success is not None:
        since = max(since, health.last_success)
    if now - since > grace:
        return NodeConditionResult(UNKNOWN, Reason.CONNECTION_DOWN, _last_probe(health))
    if isinstance(node, Unreadable):
        if isinstance(node.error, NotConnected):
            return _unless_known(machine, _last_probe(health))
        return NodeConditionResult(UNKNOWN, Reason.INTERNAL_ERROR, LOOK_AT_LOGS)
    return None if isinstance(node, Found) else _absent(machine)


def _absent(machine: Machine) -> NodeConditionResult:
    ref = machine.status.node_ref
    if machine.deleting:
        if ref is None:
            return NodeConditionResult(UNKNOWN, Reason.NODE_DOES_NOT_EXIST, "Node does not exist")
        return NodeConditionResult(FALSE, Reason.NODE_DELETED, f"Node {ref.name} has been deleted")
    if ref is not None:
        removal = f"Node {ref.name} has been deleted while the Machine still exists"
        return NodeConditionResult(FALSE, Reason.NODE_DELETED, removal)
    if machine.spec.provider_id:
        wanted = f"spec.providerID {machine.spec.provider_id}"
        return _waiting_for_node(f"Waiting for a Node with {wanted} to exist")
    return _waiting_for_node(_waiting_for_id(machine))


def _waiting_for_id(machine: Machine) -> str:
    return f"Waiting for {machine.spec.infrastructure_ref.kind} to report spec.providerID"


def node_ready(node: Document) -> Condition:
    """Return the Node's own Ready condition, with its own time."""
    of = ConditionType.NODE_READY
    condition = _condition(node, "Ready")
    if condition is None:
        message = "* Node.Ready: Condition not yet reported"
        return Condition(type=of, status=UNKNOWN, reason=Reason.NODE_READY_UNKNOWN, message=message)
    status, text = condition["status"], condition.get("message") or ""
    reasons = {TRUE: Reason.NODE_READY, FALSE: Reason.NODE_NOT_READY}
    return Condition(
        type=of,
        status=status,
        reason=reasons.get(status, Reason.NODE_READY_UNKNOWN),
        message=f"* Node.Ready: {text}" if status != TRUE and text else "",
        last_transition_time=condition.get("lastTransitionTime") or "",
    )


def node_healthy(node: Document) -> Condition:
    """Return whether the Node is ready and under no pressure; the message names only issues and
    unknown conditions.
    """
    of = ConditionType.NODE_HEALTHY
    lines, result, issues, unknowns = [], [], 0, 0
    for name in ("Ready", *PRESSURES):
        condition = _condition(node, name)
        if condition is None:
            lines.append(f"* Node.{name}: Condition not yet reported")
            unknowns += 1
            continue
        status = condition["status"]
        if status == (TRUE if name == "Ready" else FALSE):
            continue
        message = condition.get("message") or f"Condition is {status}"
        result.append(message)
        lines.append(f"* Node.{name}: {message}")
        unknowns += status == UNKNOWN
        issues += status != UNKNOWN
    if len(result) > 1 and len(set(result)) == 1:
        lines = [f"* Node.AllConditions: {result[0]}"]
    message = "\n".join(lines)
    if issues:
        return Condition(type=of, status=FALSE, reason=Reason.NODE_NOT_HEALTHY, message=message)
    if unknowns:
        unknown = Reason.NODE_HEALTHY_UNKNOWN
        return Condition(type=of, status=UNKNOWN, reason=unknown, message=message)
    return Condition(type=of, status=TRUE, reason=Reason.NODE_HEALTHY, message="")


def _condition(node: Document, type_: str) -> Document | None:
    """Return the condition of a type, if it is valid."""
    result = None
    for condition in (node.get("status") or {}).get("conditions") or []:
        if condition.get("type") == type_ and condition.get("status") in (TRUE, FALSE, UNKNOWN):
            result = condition
    return result


def _waiting_for_node(message: str) -> NodeConditionResult:
    return NodeConditionResult(UNKNOWN, Reason.INSPECTION_FAILED, message)


def _unless_known(machine: Machine, message: str) -> NodeConditionResult | None:
    """Return Unknown unless there is a former state: a connection may be back soon.

    A former wait for a providerID that exists by now is over: the first watch of the cluster's
    Nodes begins with this providerID.
    """
    conditions = machine.status.conditions
    healthy = get(conditions, ConditionType.NODE_HEALTHY)
    if healthy is not None and has(conditions, ConditionType.NODE_READY):
        is_over = machine.spec.provider_id and healthy.message == _waiting_for_id(machine)
        return _absent(machine) if is_over else None
    return NodeConditionResult(UNKNOWN, Reason.CONNECTION_DOWN, message)


def _last_probe(health: Health) -> str:
    if health.last_success is None:
        return ""
    return f"Last successful probe at {stamp(health.last_success)}"
