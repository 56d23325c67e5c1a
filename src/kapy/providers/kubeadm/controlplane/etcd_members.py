"""Keeps etcd members and Machines in sync, and completes the deletion of Machines.

Every control plane Machine has a pre-terminate hook: it blocks the deletion, after the node was
drained, until the Machine's etcd member was removed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kapy.api.machine import Machine
from kapy.api.names import Annotation
from kapy.api.names import ConditionType as T
from kapy.api.times import moment
from kapy.kube.errors import KapyError
from kapy.kube.names import NODES
from kapy.kube.version import parse_tolerant
from kapy.providers.kubeadm.controlplane.dependencies import Dependencies
from kapy.providers.kubeadm.controlplane.etcd import member_named
from kapy.providers.kubeadm.controlplane.etcd_access import (
    LeadershipNotMoved,
    move_leader,
    remove_member,
)
from kapy.providers.kubeadm.controlplane.preflight import components_survive, etcd_survives
from kapy.providers.kubeadm.controlplane.scope import (
    ControlPlane,
    has_node,
    is_true,
    node_name,
)
from kapy.sdk import NotYet, Result, conditions
from kapy.sdk.contracts import InfraMachine
from kapy.sdk.machine_control_plane import creation_time, waits_for_hook

_OUR_HOOK_LAST_SINCE: Final = (1, 31)
"""From this version on the kubelet needs the local API server: our hook must be the last."""


class QuorumAtRisk(KapyError):
    """Removing a member might cost etcd its quorum."""


class EtcdUnknown(NotYet):
    """This step requires the etcd members, which are unknown."""


async def remove_unowned_members(dependencies: Dependencies, plane: ControlPlane) -> Result | None:
    """Remove one etcd member without a Machine; then the next reconcile checks again."""
    members = plane.etcd.members
    healthy = conditions.is_true(plane.kcp.status.conditions, T.ETCD_CLUSTER_HEALTHY)
    if not (plane.is_etcd_managed and plane.machines and members) or healthy:
        return None
    expected = {node_name(item) for item in plane.machines if has_node(item)}
    foreign = sorted(
        (item for item in members if item.name not in expected), key=lambda item: item.name
    )
    if not foreign or not all(map(has_node, plane.machines)):
        return None  # a member without a Machine may be that of a new Machine
    if _has_joining_machine(plane):
        # A member gets its name when it starts: that of a joining Machine has none yet.
        foreign = [item for item in foreign if item.name]
    if not foreign:
        return None
    stranger = foreign[0]
    name = stranger.name or "(Name not yet assigned)"
    if stranger.name and not etcd_survives(plane, without=stranger.name):
        raise QuorumAtRisk(
            f"etcd member {name} does not have a corresponding Machine, it must be removed from"
            " the cluster but this operation can lead to quorum loss. Please check the etcd status"
        )
    await remove_member(dependencies, plane.cluster.key, stranger, plane.nodes or ())
    raise EtcdUnknown(f"etcd member {name} was removed; looking at etcd again")


def _has_joining_machine(plane: ControlPlane) -> bool:
    """Return whether a Machine that was not released has no member of its own name yet."""
    there = {item.name for item in plane.etcd.members or ()}
    return any(
        node_name(item) not in there
        for item in plane.machines
        if not item.deleting or Annotation.KCP_CLEANUP_HOOK in item.metadata.annotations
    )


def shutdown_candidates(plane: ControlPlane, deleting: Sequence[Machine]) -> list[Machine]:
    """Return the drained Machines in deletion of which one may be shut down next, oldest deletion
    first; none while another one is shut down.
    """
    if any(Annotation.KCP_CLEANUP_HOOK not in item.metadata.annotations for item in deleting):
        return []
    ordered = sorted(deleting, key=lambda item: (_deletion_time(item), item.metadata.name))
    return [item for item in ordered if waits_for_hook(item) and not _has_other_hooks(plane, item)]


async def leave_cluster(dependencies: Dependencies, plane: ControlPlane, machine: Machine) -> bool:
    """Move the etcd leader away and remove the etcd member; False while that is unsafe."""
    if len(plane.machines) == 1:
        return True
    if not components_survive(plane, without=machine.metadata.name):
        return False
    return not plane.is_etcd_managed or await _leave_etcd(dependencies, plane, machine)


async def move_etcd_leader(
    dependencies: Dependencies, plane: ControlPlane, machine: Machine
) -> None:
    """Ensure that another member is the etcd leader. Raises LeadershipNotMoved, EtcdUnknown."""
    leader = plane.etcd.leader
    if leader is None:
        raise EtcdUnknown("unable to move etcd leadership, failed to detect etcd leader")
    if not has_node(machine) or node_name(machine) != leader.name:
        return
    candidates = leader_candidates(plane, machine)
    failures = []
    for candidate in candidates:
        try:
            await move_leader(
                dependencies, plane.cluster.key, node_name(machine), node_name(candidate)
            )
            return
        except KapyError as error:
            failures.append(f"{candidate.metadata.name}: {error}")
    if not candidates:
        raise LeadershipNotMoved(
            "unable to move etcd leadership, no candidate machines for etcd leadership found"
        )
    raise LeadershipNotMoved(f"failed to move etcd leadership: {'; '.join(failures)}")


def leader_candidates(plane: ControlPlane, leaving: Machine) -> list[Machine]:
    """Return the candidates for etcd leader, best first: healthy, up to date, then the newest."""
    candidates = [
        item
        for item in plane.machines
        if has_node(item) and not item.deleting and item.metadata.uid != leaving.metadata.uid
    ]
    preferences = (T.ETCD_MEMBER_HEALTHY, T.HEALTH_CHECK_SUCCEEDED, T.UP_TO_DATE)
    return sorted(
        candidates,
        key=lambda item: (
            *(not is_true(item, type_) for type_ in preferences),
            -creation_time(item).timestamp(),
        ),
    )


async def _leave_etcd(dependencies: Dependencies, plane: ControlPlane, machine: Machine) -> bool:
    """Return whether the Machine's member was removed from etcd (or never joined)."""
    if plane.nodes is None or not plane.etcd.members:
        raise EtcdUnknown("unable to remove pre-terminate hook, etcd member list is empty")
    name = member_name(dependencies, plane, machine)
    member = member_named(plane.etcd.members, name) if name else None
    if member is None:
        return True
    if not etcd_survives(plane, without=name):
        return False
    await move_etcd_leader(dependencies, plane, machine)
    await remove_member(dependencies, plane.cluster.key, member, plane.nodes)
    return True


def member_name(dependencies: Dependencies, plane: ControlPlane, machine: Machine) -> str:
    """Return the name of the Machine's etcd member, "" if it is unknown.

    It is the node's name; a node that the Machine does not refer to yet is found by its provider
    ID. Without a node, it is the only member that belongs to no other Machine, if all others have
    a node.
    """
    if has_node(machine):
        return node_name(machine)
    provider_id: str | None = machine.spec.provider_id
    infrastructure = plane.infrastructure.get(machine.metadata.name)
    if not provider_id and infrastructure is not None:
        provider_id = InfraMachine(infrastructure).provider_id
    if provider_id:
        nodes = dependencies.remote.informer(plane.cluster.key, NODES).list()
        result = [
            item for item in nodes if (item.get("spec") or {}).get("providerID") == provider_id
        ]
        if len(result) == 1:
            return str(result[0]["metadata"]["name"])
    return _unowned_member(plane, machine)


def _unowned_member(plane: ControlPlane, machine: Machine) -> str:
    """Return the only member without a Machine, "" if it may be that of another Machine."""
    others = [item for item in plane.machines if item.metadata.uid != machine.metadata.uid]
    node_names = {node_name(item) for item in others}
    unowned = [item.name for item in plane.etcd.members or () if item.name not in node_names]
    return unowned[0] if len(unowned) == 1 and all(map(has_node, others)) else ""


def _has_other_hooks(plane: ControlPlane, machine: Machine) -> bool:
    version = parse_tolerant(plane.kcp.spec.version)
    if (version.major, version.minor) < _OUR_HOOK_LAST_SINCE:
        return False
    return any(
        name.startswith(Annotation.PRE_TERMINATE_HOOK_PREFIX)
        and name != Annotation.KCP_CLEANUP_HOOK
        for name in machine.metadata.annotations
    )


def _deletion_time(machine: Machine) -> float:
    since = machine.metadata.deletion_timestamp
    return moment(since).timestamp() if since is not None else 0.0
