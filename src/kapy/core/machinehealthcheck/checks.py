"""The selection of Machines for a MachineHealthCheck, with their Nodes, and the verdict on the
health of each Machine (pure functions).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple, TypeAlias

from kapy.api.cluster import Cluster
from kapy.api.health_check import HealthChecks
from kapy.api.machine import Machine
from kapy.api.machine_health_check import MachineHealthCheck
from kapy.api.machines import is_control_plane
from kapy.api.names import Annotation, ConditionType, Label, Reason
from kapy.api.names_v1beta1 import V1Beta1Reason
from kapy.api.times import moment
from kapy.api.unhealthy_conditions import UnhealthyMachineCondition, UnhealthyNodeCondition
from kapy.client.server_clock import TOLERANCE
from kapy.conditions.lookup import TRUE, get
from kapy.contract.observed import Absent, Found
from kapy.engine.cache import Informer
from kapy.kube import Document, Key
from kapy.kube.duration import text
from kapy.kube.model import encode
from kapy.kube.selectors import LabelSelector, selector_of

_STARTUP: Final = timedelta(minutes=10)
_SLACK: Final = timedelta(seconds=1)  # times in objects are whole seconds
_LONG_AGO: Final = datetime(1, 1, 1, tzinfo=UTC)

_LEGACY: Final = {
    Reason.UNHEALTHY_MACHINE: V1Beta1Reason.UNHEALTHY_MACHINE,
    Reason.UNHEALTHY_NODE: V1Beta1Reason.UNHEALTHY_NODE,
    Reason.NODE_DELETED: V1Beta1Reason.NODE_NOT_FOUND,
    Reason.NODE_STARTUP_TIMEOUT: V1Beta1Reason.NODE_STARTUP_TIMEOUT,
}


@dataclass(frozen=True, slots=True)
class Target:
    """A Machine that a MachineHealthCheck selects, and its Node.

    document, machine: the same object, both shared: read only. node: Absent if the Machine's Node
    is gone; None if it has none yet, or if the cluster is unreachable.
    """

    document: Document
    machine: Machine
    node: Found[Document] | Absent | None


def targets(
    check: MachineHealthCheck,
    machines: Iterable[Document],
    typed: Callable[[Document], Machine],
    nodes: Informer[Document] | None,
) -> Iterator[Target]:
    """Return the selected Machines of a Cluster without those that are excluded by annotation."""
    selector = _selector_with_cluster(check)
    for document in machines:
        if selector.selects(document) and not _is_exempt(document):
            machine = typed(document)
            yield Target(document, machine, _node_of(machine, nodes))


def _selector_with_cluster(check: MachineHealthCheck) -> LabelSelector:
    """Return the check's selector, which includes the Cluster's label."""
    selector = encode(check.spec.selector)
    labels = {**selector.get("matchLabels", {}), Label.CLUSTER_NAME: check.spec.cluster_name}
    return selector_of({**selector, "matchLabels": labels})


def _is_exempt(machine: Document) -> bool:
    """Return whether the Machine is paused or excluded from remediation."""
    annotations = machine["metadata"].get("annotations") or {}
    return Annotation.PAUSED in annotations or Annotation.SKIP_REMEDIATION in annotations


def _node_of(machine: Machine, nodes: Informer[Document] | None) -> Found[Document] | Absent | None:
    if nodes is None or machine.status.node_ref is None:
        return None
    node = nodes.raw(Key("", machine.status.node_ref.name))
    return Absent() if node is None else Found(node)


@dataclass(frozen=True, slots=True)
class Healthy:
    """The verdict about a Machine that has no problem and whose Node exists."""


@dataclass(frozen=True, slots=True)
class Undecided:
    """The verdict about a Machine whose health is not known yet. again: the time until the next
    check, None to wait for a change.
    """

    again: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Unhealthy:
    """The verdict about a Machine that needs remediation. legacy_reason, legacy_message: the same
    for the v1beta1 condition.
    """

    reason: str
    message: str
    legacy_reason: str
    legacy_message: str


Verdict: TypeAlias = Healthy | Undecided | Unhealthy
_REMEDIATION_REQUESTED: Final = Unhealthy(
    Reason.HAS_REMEDIATE_ANNOTATION,
    f"Health check failed: marked for remediation via {Annotation.REMEDIATE_MACHINE} annotation",
    V1Beta1Reason.HAS_REMEDIATE_MACHINE_ANNOTATION,
    "Marked for remediation via remediate-machine annotation",
)


class ClusterFacts(NamedTuple):
    """The state of a Cluster that affects its Machines' health.

    since: the time when the later of the two preconditions for Nodes became true.
    """

    initialized: bool
    infrastructure_ready: bool
    since: datetime

    @classmethod
    def of(cls, cluster: Cluster) -> ClusterFacts:
        conditions = cluster.status.conditions
        result = [
            get(conditions, of)
            for of in (ConditionType.CONTROL_PLANE_INITIALIZED, ConditionType.INFRASTRUCTURE_READY)
        ]
        holds = [condition is not None and condition.status == TRUE for condition in result]
        times = [
            _moment(condition.last_transition_time)
            for condition, is_true in zip(result, holds, strict=True)
            if condition is not None and is_true
        ]
        return cls(holds[0], holds[1], max(times, default=_LONG_AGO))


class _Finding(NamedTuple):
    """The result of one check. reason: "" if there is no problem. again: the time until there may
    be one, None if only an event can cause one."""

    reason: str = ""
    problems: tuple[str, ...] = ()
    again: timedelta | None = None


_NOTHING: Final = _Finding()


class _ObservedCondition(NamedTuple):
    status: str
    reason: str
    since: str | None


def verdict(
    target: Target,
    checks: HealthChecks,
    surroundings: ClusterFacts,
    now: datetime,
    node_now: datetime,
) -> Verdict:
    """Return whether one Machine is healthy, unhealthy or undecided.

    now: the time by the clock of the management cluster's API server, which dates Machines.
    node_now: the time by the clock of the workload cluster's, which dates Nodes. A Machine whose
    cluster is not ready for it has no problem. Control plane Machines are checked before the
    control plane is available, so that the first one can be replaced.
    """
    machine = target.machine
    if Annotation.REMEDIATE_MACHINE in machine.metadata.annotations:
        return _REMEDIATION_REQUESTED
    if not (surroundings.initialized or is_control_plane(machine)):
        return Undecided()
    if not surroundings.infrastructure_ready:
        return Undecided()
    findings = [
        _machine_finding(machine, checks, now),
        _startup_finding(target.machine, checks, surroundings, now)
        if target.node is None
        else _node_finding(target, checks, node_now),
    ]
    if problems := [problem for finding in findings for problem in finding.problems]:
        return _unhealthy(
            next(finding.reason for finding in findings if finding.problems), problems
        )
    waits = [finding.again for finding in findings if finding.again is not None]
    if waits:
        return Undecided(min(waits))
    if machine.deleting or not isinstance(target.node, Found):
        return Undecided()
    return Healthy()


def is_ahead(target: Target, node_now: datetime) -> bool:
    """Return whether a condition of a Node has a transition time in the future."""
    if not isinstance(target.node, Found):
        return False
    conditions = (target.node.view.get("status") or {}).get("conditions") or ()
    return any(
        _moment(condition.get("lastTransitionTime")) > node_now + TOLERANCE
        for condition in conditions
    )


def _unhealthy(reason: str, problems: list[str]) -> Unhealthy:
    message = "\n".join(["Health check failed:", *(f"  * {problem}" for problem in problems)])
    legacy = _LEGACY[reason]
    legacy_message = "" if legacy == V1Beta1Reason.NODE_NOT_FOUND else "; ".join(problems)
    return Unhealthy(reason, message, legacy, legacy_message)


def _machine_finding(machine: Machine, checks: HealthChecks, now: datetime) -> _Finding:
    def observe(of: str) -> _ObservedCondition | None:
        condition = get(machine.status.conditions, of)
        return (
            None
            if condition is None
            else _ObservedCondition(
                condition.status, condition.reason, condition.last_transition_time
            )
        )

    wanted, reason = checks.unhealthy_machine_conditions, Reason.UNHEALTHY_MACHINE
    return _unhealthy_for(wanted, observe, "Machine", reason, now)


def _node_finding(target: Target, checks: HealthChecks, now: datetime) -> _Finding:
    match target.node:
        case Absent():
            name = getattr(target.machine.status.node_ref, "name", "")
            return _Finding(Reason.NODE_DELETED, (f"Node {name} has been deleted",))
        case Found(node):
            conditions = (node.get("status") or {}).get("conditions") or ()

            def observe(of: str) -> _ObservedCondition | None:
                for condition in conditions:
                    if condition["type"] == of:
                        since = condition.get("lastTransitionTime")
                        return _ObservedCondition(
                            condition["status"], condition.get("reason") or "", since
                        )
                return None

            wanted, reason = checks.unhealthy_node_conditions, Reason.UNHEALTHY_NODE
            return _unhealthy_for(wanted, observe, "Node", reason, now)
    return _NOTHING


def _startup_finding(
    machine: Machine, checks: HealthChecks, surroundings: ClusterFacts, now: datetime
) -> _Finding:
    """Check the startup timeout, which begins when all preconditions for the Node are met."""
    seconds = checks.node_startup_timeout_seconds
    allowed = _STARTUP if seconds is None else timedelta(seconds=seconds)
    if not allowed:
        return _NOTHING
    began = [surroundings.since, _moment(machine.metadata.creation_timestamp)]
    ready = get(machine.status.conditions, ConditionType.INFRASTRUCTURE_READY)
    if ready is not None and ready.status == TRUE:
        began.append(_moment(ready.last_transition_time))
    lasts = _time_since(max(began), now)
    if lasts > allowed:
        problem = f"Node failed to report startup in {text(allowed)}"
        return _Finding(Reason.NODE_STARTUP_TIMEOUT, (problem,))
    return _Finding(again=allowed - lasts + _SLACK)


def _unhealthy_for(
    conditions: Iterable[UnhealthyMachineCondition | UnhealthyNodeCondition],
    find: Callable[[str], _ObservedCondition | None],
    on: str,
    reason: str,
    now: datetime,
) -> _Finding:
    """Find bad conditions that have lasted too long; without any, the time until the first one will
    have.
    """
    problems, waits = list[str](), list[timedelta]()
    for condition in conditions:
        match = find(condition.type)
        if match is None or match.status != condition.status:
            continue
        allowed = timedelta(seconds=condition.timeout_seconds)
        lasts = _time_since(_moment(match.since), now)
        if lasts > allowed:
            problems.append(
                f"Condition {condition.type} on {on} is reporting status {condition.status} "
                f"with reason {match.reason} for more than {text(allowed)}"
            )
        else:
            waits.append(allowed - lasts + _SLACK)
    if problems:
        return _Finding(reason, tuple(problems))
    return _Finding(again=min(waits)) if waits else _NOTHING


def _time_since(since: datetime, now: datetime) -> timedelta:
    """Return the time since a moment. It is 0 for a time in the future, which a wrong clock has
    written, so that the next check is not delayed.
    """
    return max(now - since, timedelta())


def _moment(text: str | None) -> datetime:
    """Parse a time; a missing or invalid time counts as long ago."""
    try:
        return moment(text) if text else _LONG_AGO
    except ValueError:
        return _LONG_AGO
