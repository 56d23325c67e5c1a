"""How the etcd member of each Machine fares, and whether members and Machines match. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

from kapy.api.condition import Condition
from kapy.api.machine import Machine
from kapy.api.names import ConditionType as T
from kapy.api.names import Reason
from kapy.api.times import moment
from kapy.kube import Document
from kapy.providers.kubeadm.controlplane.components import waiting_for_node
from kapy.providers.kubeadm.controlplane.etcd import Member, member_named
from kapy.providers.kubeadm.controlplane.scope import (
    ControlPlane,
    EtcdState,
    has_node,
    is_true,
    node_name,
)
from kapy.providers.kubeadm.controlplane.tally import Tally, tally
from kapy.sdk import conditions

_TALLY: Final = Tally(T.ETCD_CLUSTER_HEALTHY, (T.ETCD_MEMBER_HEALTHY,), "etcd member")
_JOINING: Final = timedelta(minutes=2)
"""How long a node may be there before its etcd member is missed."""


def asked_nodes(plane: ControlPlane) -> list[str]:
    """The nodes whose etcd may be asked: healthy ones first."""
    candidates = [one for one in plane.machines if has_node(one) and not one.deleting]
    there = [one for one in candidates if plane.nodes and node_name(one) in plane.nodes]
    ordered = sorted(there, key=lambda one: not is_true(one, T.ETCD_MEMBER_HEALTHY))
    return [node_name(one) for one in ordered]


def observe_etcd(plane: ControlPlane, state: EtcdState, failure: str = "") -> None:
    """Write the conditions of all Machines, and what they come to for the control plane.

    state: what etcd said; without members, `failure` says why nobody could be asked ("" when
    there was nobody to ask).
    """
    plane.etcd = state
    for machine in plane.machines:
        condition = _condition(machine, state, failure)
        if condition is not None:
            plane.set_on(machine, condition)
    state.matches_machines, errors = _compared(plane, state)
    plane.set(tally(plane.machines, _TALLY, errors))


def etcd_unreadable(plane: ControlPlane) -> None:
    """The nodes could not be read: there is no way to any etcd."""
    plane.etcd = EtcdState()
    for machine in plane.machines:
        plane.set_on(machine, _unknown("Failed to get the Node hosting the etcd member"))
    message = "Failed to get Nodes hosting the etcd cluster"
    plane.set(conditions.unknown(T.ETCD_CLUSTER_HEALTHY, Reason.INSPECTION_FAILED, message))


def _condition(machine: Machine, state: EtcdState, failure: str) -> Condition | None:
    if machine.deleting:
        return conditions.false(T.ETCD_MEMBER_HEALTHY, Reason.DELETING, "Machine is deleting")
    if not has_node(machine):
        return _unknown(waiting_for_node(machine))
    if state.members is None:
        return _unknown(failure) if failure else None
    name = node_name(machine)
    member = member_named(state.members, name)
    if member is None:
        return _bad(f"Etcd doesn't have an etcd member for Node {name}")
    if member.is_learner:
        return _bad("Waiting for learner etcd member to be promoted")
    alarms = [alarm.kind for alarm in state.alarms if alarm.member_id == member.id]
    if alarms:
        return _bad(f"Etcd reports alarms: {', '.join(alarms)}")
    return conditions.true(T.ETCD_MEMBER_HEALTHY, Reason.HEALTHY)


def _unknown(message: str) -> Condition:
    return conditions.unknown(T.ETCD_MEMBER_HEALTHY, Reason.INSPECTION_FAILED, message)


def _bad(message: str) -> Condition:
    return conditions.false(T.ETCD_MEMBER_HEALTHY, Reason.NOT_HEALTHY, message)


def _compared(plane: ControlPlane, state: EtcdState) -> tuple[bool, list[str]]:
    """Whether members and Machines match, and what is wrong with members that match none.

    While a Machine comes up, its member may be there before its node is known, and the other way
    round: that alone is no mismatch yet.
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
    strangers = list(_strangers(plane.machines, state.members))
    if strangers and all(map(has_node, plane.machines)):
        matching = False
    errors = [
        f"Etcd member {member.name or f'{member.id} (Name not yet assigned)'} does not have a"
        " corresponding Machine"
        for member in strangers
    ]
    return matching, errors


def _strangers(machines: Sequence[Machine], members: Sequence[Member]) -> Iterator[Member]:
    names = {node_name(machine) for machine in machines if has_node(machine)}
    return (member for member in members if member.name not in names)


def _is_old(plane: ControlPlane, name: str) -> bool:
    node: Document | None = (plane.nodes or {}).get(name)
    created = node["metadata"].get("creationTimestamp") if node is not None else None
    return created is not None and plane.now - moment(created) > _JOINING


def quorum(members: Sequence[Member]) -> int:
    """How many voting members must agree."""
    return sum(1 for one in members if one.name and not one.is_learner) // 2 + 1


def stays_healthy(plane: ControlPlane, *, without: str) -> bool:
    """Whether etcd would keep its quorum without the member of that name.

    False as well while a member is still learning: it must become one that votes first.
    """
    members = plane.etcd.members or ()
    machines = {node_name(one): one for one in plane.machines if has_node(one)}
    alarmed = {alarm.member_id for alarm in plane.etcd.alarms}
    remaining = [one for one in members if not one.name or one.name != without]
    if any(one.is_learner or not one.name for one in remaining):
        return False
    healthy = [
        one
        for one in remaining
        if (
            is_true(machines[one.name], T.ETCD_MEMBER_HEALTHY)
            if one.name in machines
            else one.id not in alarmed
        )
    ]
    return len(healthy) >= len(remaining) // 2 + 1
