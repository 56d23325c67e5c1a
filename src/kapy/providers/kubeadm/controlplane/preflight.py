"""Preflight checks: whether the control plane is stable enough to add or remove a Machine.

The previous step must be complete and everything healthy before the next one. The objects that
block it are watched, so no timer is needed. A new Machine is assumed to be unhealthy, unless there
is nothing to lose yet (no Machine, or at most one etcd member): otherwise no control plane could
start.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kapy.api.machine import Machine
from kapy.api.names import Annotation
from kapy.api.names import ConditionType as T
from kapy.kube import Document
from kapy.providers.kubeadm.controlplane.components import components_of
from kapy.providers.kubeadm.controlplane.dependencies import Dependencies
from kapy.providers.kubeadm.controlplane.etcd import Member
from kapy.providers.kubeadm.controlplane.scope import (
    ControlPlane,
    Preflight,
    has_node,
    is_true,
    node_name,
)
from kapy.sdk import conditions


def is_stable(
    dependencies: Dependencies,
    plane: ControlPlane,
    *,
    scale_up: bool,
    leaving: Machine | None = None,
) -> bool:
    """Return whether the next step may be taken; the findings go to `plane.preflight`.

    leaving: a Machine that is to be deleted, so its own health does not matter.
    """
    preflight = plane.preflight = Preflight()
    if not plane.machines:
        return True
    preflight.topology_version = pending_topology_version(plane)
    if preflight.topology_version:
        return False
    certificates = conditions.is_true(plane.kcp.status.conditions, T.CERTIFICATES_AVAILABLE)
    if scale_up and not certificates:
        preflight.certificate_missing = True
        return False
    if any(machine.deleting for machine in plane.machines):
        preflight.deleting_machine = True
        return False
    failures = list(_failures(plane, leaving))
    replacing = Annotation.REMEDIATION_IN_PROGRESS in plane.kcp.metadata.annotations
    if failures and scale_up and replacing:
        # After a remediation other components may be broken, too. It is sufficient that the control
        # plane survives the new Machine, which it needs to recover.
        failures = list(_recovery_failures(plane))
    if failures:
        _record_failures(dependencies, plane, failures)
        return False
    dependencies.cache.last_event.pop(plane.kcp.key, None)
    return True


def pending_topology_version(plane: ControlPlane) -> str:
    """Return the version that the Cluster's topology is about to set, "" if there is none."""
    topology = plane.cluster.spec.topology
    if topology is None:
        return ""
    version = plane.kcp.spec.version
    step = plane.cluster.metadata.annotations.get(Annotation.TOPOLOGY_UPGRADE_STEP)
    if version in (topology.version, step):
        return ""
    return step or topology.version


def is_healthy(plane: ControlPlane, machine: Machine) -> bool:
    """Return whether no condition of the Machine itself prevents a stable control plane."""
    return not any(_failures_of(plane, machine, Preflight()))


def _failures(plane: ControlPlane, leaving: Machine | None) -> Iterator[str]:
    for machine in plane.machines:
        if leaving is None or machine.metadata.uid != leaving.metadata.uid:
            yield from _failures_of(plane, machine, plane.preflight)


def _failures_of(plane: ControlPlane, machine: Machine, preflight: Preflight) -> Iterator[str]:
    name = machine.metadata.name
    if not has_node(machine):
        preflight.components_not_healthy = True
        preflight.etcd_not_healthy = preflight.etcd_not_healthy or plane.is_etcd_managed
        yield (
            f"Machine {name} does not have a corresponding Node yet"
            " (Machine.status.nodeRef not set)"
        )
        return
    for type_ in components_of(plane).values():
        failure = _failure(machine, type_)
        if failure:
            preflight.components_not_healthy = True
            yield failure
    failure = _failure(machine, T.ETCD_MEMBER_HEALTHY) if plane.is_etcd_managed else ""
    if failure:
        preflight.etcd_not_healthy = True
        yield failure


def _recovery_failures(plane: ControlPlane) -> Iterator[str]:
    preflight = plane.preflight = Preflight()
    if not components_survive(plane, adding=True):
        preflight.components_not_healthy = True
        yield (
            "cannot add a new control plane Machine when there are no control plane Machines with"
            " all Kubernetes control plane components in healthy state. Please check Kubernetes"
            " control plane component status"
        )
    if not plane.is_etcd_managed:
        return
    if not plane.etcd.members:
        yield "cannot check etcd cluster health before scale up, etcd member list is empty"
    elif not etcd_survives(plane, adding=True):
        preflight.etcd_not_healthy = True
        yield (
            "adding a new control plane Machine can lead to etcd quorum loss. Please check the etcd"
            " status"
        )


def _failure(machine: Machine, type_: str) -> str:
    condition = conditions.get(machine.status.conditions, type_)
    name = machine.metadata.name
    if condition is None:
        return f"Machine {name} does not have {type_} condition"
    if condition.status == conditions.TRUE:
        return ""
    status = condition.status.lower()
    return f"Machine {name} reports {type_} condition is {status} ({condition.message})"


def _record_failures(dependencies: Dependencies, plane: ControlPlane, failures: list[str]) -> None:
    """Record an event for each new finding, but not for repeated ones."""
    unique = list(dict.fromkeys(failures))
    text = unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]"
    if dependencies.cache.last_event.get(plane.kcp.key) == text:
        return
    dependencies.cache.last_event[plane.kcp.key] = text
    dependencies.recorder.warning(
        plane.kcp,
        "ControlPlaneUnhealthy",
        f"Waiting for control plane to pass preflight checks to continue reconciliation: {text}",
    )


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
