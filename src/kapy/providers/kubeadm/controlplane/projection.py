"""Predicts the health of the control plane after a Machine is added or removed. Pure.

A new Machine is assumed to be unhealthy, unless there is nothing to lose yet (no Machine, or at
most one etcd member): otherwise no control plane could start.
"""

from __future__ import annotations

from collections.abc import Sequence

from kapy.api.names import Annotation
from kapy.api.names import ConditionType as T
from kapy.kube import Document
from kapy.providers.kubeadm.controlplane.components import components_of
from kapy.providers.kubeadm.controlplane.etcd import Member
from kapy.providers.kubeadm.controlplane.scope import ControlPlane, has_node, is_true, node_name


def components_survive(plane: ControlPlane, *, without: str = "", adding: bool = False) -> bool:
    """Return whether some Machine would have all components healthy.

    without: the name of the Machine to be removed. The controllers on a Machine use the local API
    server, which uses the local etcd member, so a Machine is healthy only as a whole.
    """
    if adding and not plane.machines:
        return True
    types = components_of(plane).values()
    return any(
        all(is_true(item, type_) for type_ in types)
        for item in plane.machines
        if item.metadata.name != without
    )


def etcd_survives(plane: ControlPlane, *, without: str = "", adding: bool = False) -> bool:
    """Return whether etcd would keep its quorum after a change.

    without: the name of the member to remove. adding: whether a member is added. The result is
    False while a member is a learner, which must be promoted first. Members are counted, not
    Machines: their numbers may differ.
    """
    members = plane.etcd.members or ()
    remaining = [item for item in members if item.name != without]
    if without and not _may_join(plane, members, without):
        # A member gets its name when it starts, so this one belongs to the Machine to be deleted.
        remaining = [item for item in remaining if item.name]
    if any(item.is_learner or not item.name for item in remaining):
        return False
    voting = len(remaining) + adding
    healthy = sum(_is_healthy(plane, item) for item in remaining)
    if adding and len(members) <= 1:
        healthy += 1
    return healthy >= voting // 2 + 1


def _may_join(plane: ControlPlane, members: Sequence[Member], without: str) -> bool:
    """Return whether a member without a name may be that of another Machine than `without`."""
    names = {item.name for item in members}
    if without in names:
        return True
    staying = [item for item in plane.machines if not item.deleting]
    return any(node_name(item) not in names | {without} for item in staying)


def _is_healthy(plane: ControlPlane, member: Member) -> bool:
    """Return whether a member is healthy, by the condition of its Machine; a member without a
    Machine, by its alarms; that of a Machine in deletion, by its Node and its alarms. So two
    Machines that are deleted at the same time do not wait for each other.
    """
    has_alarm = any(alarm.member_id == member.id for alarm in plane.etcd.alarms)
    for machine in plane.machines:
        if has_node(machine) and node_name(machine) == member.name:
            if machine.deleting and Annotation.KCP_CLEANUP_HOOK in machine.metadata.annotations:
                # Its condition is False because of the deletion, but it runs until our hook is
                # removed.
                return not has_alarm and _is_ready((plane.nodes or {}).get(member.name))
            return is_true(machine, T.ETCD_MEMBER_HEALTHY)
    # It may belong to a Machine without a Node, whose state is unknown.
    return not has_alarm and all(map(has_node, plane.machines))


def _is_ready(node: Document | None) -> bool:
    reported = ((node or {}).get("status") or {}).get("conditions") or ()
    return any(item["type"] == "Ready" and item["status"] == "True" for item in reported)
