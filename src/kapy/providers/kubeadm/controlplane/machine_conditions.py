"""v1beta1 conditions of Machines for their components and etcd members, and the summaries of
Machines' conditions for the control plane, of both versions. Pure.

The v1beta1 conditions report the same findings as the v1beta2 conditions, in other words. A
condition is absent while its finding is unknown. A summary is like an aggregate condition, but it
names only problems and unknowns, and lists a Machine once if all of its components report the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kapy.api.condition import Condition, V1Beta1Condition
from kapy.api.machine import Machine
from kapy.api.names import Reason
from kapy.api.names_v1beta1 import V1Beta1Reason, V1Beta1Type
from kapy.api.wording import shorten
from kapy.kube import Document
from kapy.providers.kubeadm.controlplane.etcd import member_named
from kapy.providers.kubeadm.controlplane.scope import (
    EtcdState,
    has_node,
    node_name,
    v1beta1_conditions_of,
)
from kapy.sdk import conditions, v1beta1


@dataclass(frozen=True, slots=True)
class Summary:
    """The definition of a summary condition. types: the types of the summarized conditions of
    Machines. target: the type of the summary condition. subject: the subject of its messages.
    """

    target: str
    types: tuple[str, ...]
    subject: str


def summarize(machines: Sequence[Machine], of: Summary, errors: Sequence[str]) -> Condition:
    """Return the condition of the control plane; `errors` are about it as a whole."""
    result: dict[str, list[str]] = {}
    bad = unknown = good = False
    for machine in machines:
        value = _reports(machine, of.types)
        # Without a provider ID the infrastructure does not exist yet, so nothing can be known.
        young = not machine.spec.provider_id
        bad = bad or any(condition.status == conditions.FALSE for condition in value)
        good = good or any(_is_no_issue(condition, young=young) for condition in value)
        lines = [
            _line(condition) for condition in value if not _is_no_issue(condition, young=young)
        ]
        unknown = unknown or any(
            condition.status == conditions.UNKNOWN and not young for condition in value
        )
        if lines:
            if len(value) > 1 and len({condition.message for condition in value}) == 1:
                lines = [f"  * Control plane components: {value[0].message}"]
            result.setdefault("\n".join(lines), []).append(machine.metadata.name)
    message = "\n".join([*_group_by_message(result), *(f"* {error}" for error in errors)])
    if bad or errors:
        return conditions.false(of.target, Reason.NOT_HEALTHY, message)
    if unknown:
        return conditions.unknown(of.target, Reason.HEALTH_UNKNOWN, message)
    if good:
        return conditions.true(of.target, Reason.HEALTHY)
    message = f"No Machines reporting {of.subject} status"
    return conditions.unknown(of.target, Reason.HEALTH_UNKNOWN, message)


def _reports(machine: Machine, types: Sequence[str]) -> list[Condition]:
    result = (conditions.get(machine.status.conditions, type_) for type_ in types)
    return [condition for condition in result if condition is not None]


def _is_no_issue(condition: Condition, *, young: bool) -> bool:
    return condition.status == conditions.TRUE or (young and condition.status == conditions.UNKNOWN)


def _line(condition: Condition) -> str:
    return f"  * {condition.type}: {condition.message or f'condition is {condition.status}'}"


def _group_by_message(value: dict[str, list[str]]) -> list[str]:
    """Return each message with the Machines that report it, the most frequent message first."""
    ranked = sorted(value.items(), key=lambda item: (-len(item[1]), ",".join(item[1])))
    return [f"* {_machine_names(names)}:\n{message}" for message, names in ranked]


def _machine_names(names: Sequence[str]) -> str:
    noun = "Machine" if len(names) == 1 else "Machines"
    return f"{noun} {shorten(sorted(names), 3)}"


_WORDS: Final = {
    (conditions.FALSE, v1beta1.ERROR): "{} errors",
    (conditions.FALSE, v1beta1.WARNING): "{} warnings",
    (conditions.FALSE, v1beta1.INFO): "{} info",
    (conditions.TRUE, ""): "",
    (conditions.UNKNOWN, ""): "unknown {} status",
}
"""Message templates by status and severity of the Machines' conditions, the worst first."""


def pod_v1beta1(
    machine: Machine, node: Document | None, component: str, observed: Condition
) -> V1Beta1Condition | None:
    """Return the v1beta1 form of `observed`, the condition of a component on the Machine."""
    type_ = observed.type
    if machine.deleting:
        return v1beta1.false(type_, V1Beta1Reason.DELETING, v1beta1.INFO)
    if not has_node(machine):
        return None
    if node is None:
        return v1beta1.false(type_, V1Beta1Reason.POD_FAILED, v1beta1.ERROR, "Missing Node")
    if observed.status == conditions.TRUE:
        return v1beta1.true(type_)
    name = node_name(machine)
    message = observed.message
    if observed.status == conditions.UNKNOWN:
        message = message.replace(f"Node {name} is unreachable", "Node is unreachable")
        return v1beta1.unknown(type_, V1Beta1Reason.POD_INSPECTION_FAILED, message)
    if observed.reason == Reason.PROVISIONING:
        return v1beta1.false(type_, V1Beta1Reason.POD_PROVISIONING, v1beta1.INFO, message)
    if observed.reason == Reason.DOES_NOT_EXIST:
        missing = f"Pod {component}-{name} is missing"
        return v1beta1.false(type_, V1Beta1Reason.POD_MISSING, v1beta1.ERROR, missing)
    return v1beta1.false(type_, V1Beta1Reason.POD_FAILED, v1beta1.ERROR, message)


def member_v1beta1(machine: Machine, state: EtcdState) -> V1Beta1Condition | None:
    """Return the v1beta1 condition of the Machine's etcd member."""
    name = node_name(machine)
    member = member_named(state.members or (), name) if name else None
    if name and member is None and state.members is not None:
        return _unhealthy("Missing etcd member")
    if machine.deleting:
        return v1beta1.false(V1Beta1Type.ETCD_MEMBER_HEALTHY, V1Beta1Reason.DELETING, v1beta1.INFO)
    if member is None:
        return _not_queried(state) if name and state.failure else None
    if member.is_learner:
        return _unhealthy("Waiting for learner etcd member to be promoted")
    if alarms := state.alarms_of(member):
        return _unhealthy(f"Etcd member reports alarms: {', '.join(alarms)}")
    return v1beta1.true(V1Beta1Type.ETCD_MEMBER_HEALTHY)


def _not_queried(state: EtcdState) -> V1Beta1Condition:
    if state.reached:
        return _unhealthy(state.failure.partition(":")[0])
    reason = V1Beta1Reason.MEMBER_INSPECTION_FAILED
    return v1beta1.unknown(V1Beta1Type.ETCD_MEMBER_HEALTHY, reason, state.failure)


def _unhealthy(message: str) -> V1Beta1Condition:
    reason = V1Beta1Reason.ETCD_MEMBER_UNHEALTHY
    return v1beta1.false(V1Beta1Type.ETCD_MEMBER_HEALTHY, reason, v1beta1.ERROR, message)


@dataclass(frozen=True, slots=True)
class SummaryV1Beta1:
    """The definition of a summary condition. types: the types of the summarized conditions of
    Machines. target: the type of the summary condition. subject: the subject of its messages.
    """

    target: str
    types: tuple[str, ...]
    subject: str
    unhealthy: str
    unknown: str


def summarize_v1beta1(
    machines: Sequence[Machine], of: SummaryV1Beta1, errors: Sequence[str]
) -> V1Beta1Condition | None:
    """Return the summary condition; None if no Machine reports one of its conditions.

    It has the worst status and severity of any Machine, and the names of all Machines that report
    them. errors: problems of the control plane as a whole.
    """
    result = _messages(machines, of.types)
    status, severity = next((word for word in _WORDS if word in result), ("", ""))
    message = ""
    if names := result.get((status, severity)):
        words = _WORDS[(status, severity)].format(of.subject)
        message = f"Following Machines are reporting {words}: {', '.join(sorted(names))}"
    if errors:
        own = [message] if severity == v1beta1.ERROR else []
        return v1beta1.false(of.target, of.unhealthy, v1beta1.ERROR, "; ".join([*errors, *own]))
    if status == conditions.FALSE:
        return v1beta1.false(of.target, of.unhealthy, severity, message)
    if status == conditions.TRUE:
        return v1beta1.true(of.target)
    return v1beta1.unknown(of.target, of.unknown, message) if status else None


def _messages(machines: Sequence[Machine], types: Sequence[str]) -> dict[tuple[str, str], set[str]]:
    """Status and severity, with the names of the Machines that report them."""
    messages: dict[tuple[str, str], set[str]] = {}
    for machine in machines:
        for condition in v1beta1_conditions_of(machine):
            if condition.type in types:
                messages.setdefault((condition.status, condition.severity), set()).add(
                    machine.metadata.name
                )
    return messages
