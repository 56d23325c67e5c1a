"""Predicts the health of the control plane after a Machine is added or removed. Pure.

A new Machine is assumed to be unhealthy, unless there is nothing to lose yet (no Machine, or at
most one etcd member): otherwise no control plane could start.
"""

from __future__ import annotations

from kapy.api.names import ConditionType as T
from kapy.providers.kubeadm.controlplane.components import components_of
from kapy.providers.kubeadm.controlplane.etcd import Member
from kapy.providers.kubeadm.controlplane.scope import ControlPlane, has_node, is_true, node_name


def components_survive(plane: ControlPlane, *, without: str = "", adding: bool = False) -> bool:
    """Whether some Machine would have all components healthy.

    without: the name of the Machine to be removed. The controllers on a Machine use the local API
    server, which uses the local etcd member, so a Machine is healthy only as a whole.
    """
    if adding and not plane.machines:
        return True
    types = components_of(plane).values()
    return any(
        all(is_true(one, type_) for type_ in types)
        for one in plane.machines
        if one.metadata.name != without
    )


def etcd_survives(plane: ControlPlane, *, without: str = "", adding: bool = False) -> bool:
    """Whether etcd would keep its quorum.

    without: the name of the member to be removed. It is False while a member is a learner, which
    must be promoted first. Members are counted, not Machines: their numbers may differ.
    """
    members = plane.etcd.members or ()
    remaining = [one for one in members if not one.name or one.name != without]
    if any(one.is_learner or not one.name for one in remaining):
        return False
    voting = len(remaining) + adding
    healthy = sum(_is_healthy(plane, one) for one in remaining)
    if adding and len(members) <= 1:
        healthy += 1
    return healthy >= voting // 2 + 1


def _is_healthy(plane: ControlPlane, member: Member) -> bool:
    """Return whether a member is healthy, by the condition of its Machine; a member without a
    Machine, by its alarms.
    """
    for machine in plane.machines:
        if has_node(machine) and node_name(machine) == member.name:
            return is_true(machine, T.ETCD_MEMBER_HEALTHY)
    return all(alarm.member_id != member.id for alarm in plane.etcd.alarms)
