"""The health of each Machine's etcd member, and whether members and Machines match. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

from kapy.api.condition import Condition
from kapy.api.machine import Machine
from kapy.api.names import ConditionType as T
from kapy.api.names import Reason
from kapy.api.names_v1beta1 import V1Beta1Reason, V1Beta1Type
from kapy.api.times import moment
from kapy.kube import Document
from kapy.providers.kubeadm.controlplane.components import waiting_for_node
from kapy.providers.kubeadm.controlplane.etcd import Member, member_named
from kapy.providers.kubeadm.controlplane.machine_conditions import (
    Summary,
    SummaryV1Beta1,
    member_v1beta1,
    summarize,
    summarize_v1beta1,
)
from kapy.providers.kubeadm.controlplane.scope import (
    ControlPlane,
    EtcdState,
    has_node,
    is_true,
    node_name,
)
from kapy.sdk import conditions

_SUMMARY: Final = Summary(T.ETCD_CLUSTER_HEALTHY, (T.ETCD_MEMBER_HEALTHY,), "etcd member")
_SUMMARY_V1BETA1: Final = SummaryV1Beta1(
    V1Beta1Type.ETCD_CLUSTER_HEALTHY,
    (V1Beta1Type.ETCD_MEMBER_HEALTHY,),
    "etcd member",
    unhealthy=V1Beta1Reason.ETCD_CLUSTER_UNHEALTHY,
    unknown=V1Beta1Reason.ETCD_CLUSTER_UNKNOWN,
)
_JOINING: Final = timedelta(minutes=2)
"""How long a node may be there before its etcd member is missed."""


def nodes_to_query(plane: ControlPlane) -> list[str]:
    """Return the nodes whose etcd can be asked: healthy ones first."""
    candidates = [
        machine for machine in plane.machines if has_node(machine) and not machine.deleting
    ]
    there = [
        candidate for candidate in candidates if plane.nodes and node_name(candidate) in plane.nodes
    ]
    ordered = sorted(there, key=lambda machine: not is_true(machine, T.ETCD_MEMBER_HEALTHY))
    return [node_name(machine) for machine in ordered]


def observe_etcd(plane: ControlPlane, state: EtcdState) -> None:
    """Write the conditions of all Machines, and their summary on the control plane."""
    plane.etcd = state
    for machine in plane.machines:
        condition = _condition(machine, state)
        if condition is not None:
            plane.set_on(machine, condition)
        plane.set_v1beta1_on(machine, member_v1beta1(machine, state))
    state.matches_machines, errors = _compare(plane, state)
    plane.set(summarize(plane.machines, _SUMMARY, errors))
    plane.set_v1beta1(summarize_v1beta1(plane.machines, _SUMMARY_V1BETA1, errors))


def _condition(machine: Machine, state: EtcdState) -> Condition | None:
    name = node_name(machine)
    member = member_named(state.members or (), name) if name else None
    if name and member is None and state.members is not None:
        return _bad(f"Etcd doesn't have an etcd member for Node {name}")
    if machine.deleting:
        return conditions.false(T.ETCD_MEMBER_HEALTHY, Reason.DELETING, "Machine is deleting")
    if not name:
        return _unknown(waiting_for_node(machine))
    if member is None:
        return _unknown(state.failure) if state.failure else None
    if member.is_learner:
        return _bad("Waiting for learner etcd member to be promoted")
    if alarms := state.alarms_of(member):
        return _bad(f"Etcd reports alarms: {', '.join(alarms)}")
    return conditions.true(T.ETCD_MEMBER_HEALTHY, Reason.HEALTHY)


def _unknown(message: str) -> Condition:
    return conditions.unknown(T.ETCD_MEMBER_HEALTHY, Reason.INSPECTION_FAILED, message)


def _bad(message: str) -> Condition:
    return conditions.false(T.ETCD_MEMBER_HEALTHY, Reason.NOT_HEALTHY, message)


def _compare(plane: ControlPlane, state: EtcdState) -> tuple[bool, list[str]]:
    """Return whether members and Machines match, and the problems of members that match none. While
    a Machine starts, its member may exist before its Node is known, or the reverse. That alone is
    no mismatch.
    """
    if state.members is None:
        return not any(map(has_node, plane.machines)), []
    matching = all(
        machine.deleting
        or not has_node(machine)
        or member_named(state.members, node_name(machine)) is not None
        or not _is_old(plane, node_name(machine))
        for machine in plane.machines
    )
    foreign = list(_unowned_members(plane.machines, state.members))
    if foreign and all(map(has_node, plane.machines)):
        matching = False
    errors = [
        f"Etcd member {member.name or f'{member.id} (Name not yet assigned)'} does not have a"
        " corresponding Machine"
        for member in foreign
    ]
    return matching, errors


def _unowned_members(machines: Sequence[Machine], members: Sequence[Member]) -> Iterator[Member]:
    names = {node_name(machine) for machine in machines if has_node(machine)}
    return (member for member in members if member.name not in names)


def _is_old(plane: ControlPlane, name: str) -> bool:
    node: Document | None = (plane.nodes or {}).get(name)
    created = node["metadata"].get("creationTimestamp") if node is not None else None
    return created is not None and plane.now - moment(created) > _JOINING


def quorum(members: Sequence[Member]) -> int:
    """Return the number of voting members that must agree."""
    return sum(1 for member in members if member.name and not member.is_learner) // 2 + 1
