"""The Available condition: etcd has quorum, and one Machine has all components healthy. Pure.

kubeadm connects each API server to the local etcd member, and the other components to the local API
server; so a Machine counts only if everything on it is healthy.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from kapy.api.condition import Condition
from kapy.api.machine import Machine
from kapy.api.names import ConditionType as T
from kapy.api.names import Reason
from kapy.api.times import moment
from kapy.providers.kubeadm.controlplane.etcd_health import quorum
from kapy.providers.kubeadm.controlplane.scope import ControlPlane, has_node, is_true, node_name
from kapy.sdk import conditions

_GRACE_PERIOD: Final = timedelta(minutes=2)
"""The time after initialization in which etcd may not yet report its members."""
_FLAP_PERIOD: Final = timedelta(seconds=10)
"""The minimum age of a reported issue while the control plane is available."""

_COMPONENTS: Final = (
    T.API_SERVER_POD_HEALTHY,
    T.CONTROLLER_MANAGER_POD_HEALTHY,
    T.SCHEDULER_POD_HEALTHY,
)
_WITH_ETCD: Final = (*_COMPONENTS, T.ETCD_MEMBER_HEALTHY, T.ETCD_POD_HEALTHY)


@dataclass(slots=True)
class Count:
    """Numbers of Machines: healthy, unhealthy, and failed too recently to be reported."""

    healthy: int = 0
    unhealthy: int = 0
    unknown: int = 0

    @property
    def reported_healthy(self) -> int:
        return self.healthy + self.unknown


def available(plane: ControlPlane) -> Condition:
    """Return the Available condition of a control plane."""
    if not plane.is_initialized:
        return _not_available("Control plane not yet initialized")
    if plane.is_etcd_managed:
        unsettled = _etcd_in_doubt(plane)
        if unsettled is not None:
            return unsettled
    machines, members = _machines(plane), _members(plane)
    certificates = conditions.is_true(plane.kcp.status.conditions, T.CERTIFICATES_AVAILABLE)
    etcd_ok = not plane.is_etcd_managed or members.healthy >= quorum(plane.etcd.members or ())
    if not plane.kcp.deleting and etcd_ok and machines.healthy >= 1 and certificates:
        message = "\n".join(_partial(plane, machines, members))
        return conditions.true(T.AVAILABLE, Reason.AVAILABLE, message)
    lines = []
    if plane.kcp.deleting:
        lines.append("* Control plane metadata.deletionTimestamp is set")
    if not certificates:
        lines.append("* Control plane certificates are not available")
    if not etcd_ok:
        lines.append(_etcd_line(plane, members.healthy))
    if machines.healthy < 1:
        lines.append(
            "* There are no Machines with healthy control plane components, at least 1 required"
        )
    return _not_available("\n".join(lines))


def _etcd_in_doubt(plane: ControlPlane) -> Condition | None:
    """Return the condition if etcd's members are unknown or do not match the Machines, else None.

    The last condition is kept after a start of this program or a short loss of the connection.
    """
    if plane.etcd.members is None:
        last = conditions.get(plane.kcp.status.conditions, T.AVAILABLE)
        if last is not None and not plane.is_observed:
            return last
        initialized = conditions.get(plane.kcp.status.conditions, T.INITIALIZED)
        if initialized is not None and initialized.status == conditions.TRUE:
            since = moment(initialized.last_transition_time)
            if plane.now - since < _GRACE_PERIOD:
                return _not_available("Waiting for etcd to report the list of members")
        return conditions.unknown(
            T.AVAILABLE, Reason.INSPECTION_FAILED, "Failed to get etcd members"
        )
    if not plane.etcd.matches_machines:
        return _not_available(
            "The list of etcd members does not match the list of Machines and Nodes"
        )
    return None


def _machines(plane: ControlPlane) -> Count:
    types = _WITH_ETCD if plane.is_etcd_managed else _COMPONENTS
    count = Count()
    for machine in plane.machines:
        if machine.spec.provider_id:  # without one it is still being created
            _add(count, machine, types, plane.now)
    return count


def _members(plane: ControlPlane) -> Count:
    count = Count()
    by_node = {node_name(item): item for item in plane.machines if has_node(item)}
    coming = [item for item in plane.machines if not has_node(item)]
    for member in plane.etcd.members or ():
        if not member.name:  # it is starting
            count.healthy += 1
            continue
        machine = by_node.get(member.name)
        if machine is None and len(coming) == 1:
            # Machines are created one at a time, so it can only be this one's.
            machine, coming = coming[0], []
        if machine is None:
            count.unhealthy += 1
        else:
            _add(count, machine, (T.ETCD_MEMBER_HEALTHY,), plane.now)
    return count


def _add(count: Count, machine: Machine, types: tuple[str, ...], now: datetime) -> None:
    if all(is_true(machine, type_) for type_ in types):
        count.healthy += 1
    elif _is_old_issue(machine, types, now):
        count.unhealthy += 1
    else:
        count.unknown += 1


def _is_old_issue(machine: Machine, types: tuple[str, ...], now: datetime) -> bool:
    result = (conditions.get(machine.status.conditions, type_) for type_ in types)
    since = [
        moment(condition.last_transition_time)
        for condition in result
        if condition is not None and condition.status != conditions.TRUE
    ]
    return bool(since) and now - min(since) > _FLAP_PERIOD


def next_report_after(plane: ControlPlane) -> timedelta | None:
    """Return when the next unreported issue is old enough to be reported; None if there is none."""
    types = _WITH_ETCD if plane.is_etcd_managed else _COMPONENTS
    ages = [
        plane.now - moment(condition.last_transition_time)
        for machine in plane.machines
        if machine.spec.provider_id
        for condition in machine.status.conditions
        if condition.type in types and condition.status != conditions.TRUE
    ]
    waits = [_FLAP_PERIOD - age for age in ages if age <= _FLAP_PERIOD]
    return min(waits) + timedelta(seconds=1) if waits else None


def _partial(plane: ControlPlane, machines: Count, members: Count) -> list[str]:
    lines = []
    if plane.is_etcd_managed and members.unhealthy:
        lines.append(_etcd_line(plane, members.reported_healthy))
    if machines.unhealthy:
        healthy, total = machines.reported_healthy, len(plane.machines)
        verb = "Machines has" if healthy == 1 else "Machines have"
        lines.append(
            f"* {healthy} of {total} {verb} healthy control plane components, at least 1 required"
        )
    return lines


def _etcd_line(plane: ControlPlane, healthy: int) -> str:
    members = plane.etcd.members or ()
    learners = sum(1 for member in members if member.is_learner or not member.name)
    learning = f" {learners} learner etcd member," if learners else ""
    needed = f"at least {quorum(members)} healthy member required for etcd quorum"
    if healthy == 0:
        return f"* There are no healthy etcd member,{learning} {needed}"
    verb = "members is" if healthy == 1 else "members are"
    return f"* {healthy} of {len(members)} etcd {verb} healthy,{learning} {needed}"


def _not_available(message: str) -> Condition:
    return conditions.false(T.AVAILABLE, Reason.NOT_AVAILABLE, message)
