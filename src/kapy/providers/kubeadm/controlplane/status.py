"""Computes the status of a KubeadmControlPlane from one reconcile's findings. Pure."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from operator import itemgetter
from typing import Final

from kapy.api.names import Annotation, Reason
from kapy.api.names import ConditionType as T
from kapy.api.wording import machines_are
from kapy.providers.kubeadm.controlplane import unreachable
from kapy.providers.kubeadm.controlplane.availability import available
from kapy.providers.kubeadm.controlplane.remediation_attempts import (
    Attempt,
    BadAttempt,
    parse_attempt,
    previous_attempt,
)
from kapy.providers.kubeadm.controlplane.scope import (
    ControlPlane,
    is_false,
    is_to_be_remediated,
    is_true,
)
from kapy.providers.kubeadm.controlplane.status_v1beta1 import set_status_v1beta1
from kapy.sdk import conditions
from kapy.sdk.machine_control_plane import creation_time, set_machine_counters, stale_machines

_NEW_MACHINE_PERIOD: Final = timedelta(seconds=10)


def set_status(plane: ControlPlane) -> None:
    """Write the whole status; called once, at the end of a reconcile."""
    status, machines = plane.kcp.status, plane.machines
    name = plane.cluster.metadata.name
    up_to_date = sum(is_true(machine, T.UP_TO_DATE) for machine in machines)
    set_machine_counters(status, name, machines, up_to_date)
    _set_initialized(plane)
    _rolling_out(plane)
    _scaling_up(plane)
    _scaling_down(plane)
    _machines_ready(plane)
    _machines_up_to_date(plane)
    _remediating(plane)
    _last_remediation(plane)
    _deleting(plane)
    plane.set(available(plane))
    set_status_v1beta1(plane)


def _set_initialized(plane: ControlPlane) -> None:
    if plane.is_initialized:
        plane.set(conditions.true(T.INITIALIZED, Reason.INITIALIZED))
    else:
        plane.set(conditions.false(T.INITIALIZED, Reason.NOT_INITIALIZED))


def _rolling_out(plane: ControlPlane) -> None:
    rolling = [machine for machine in plane.machines if is_false(machine, T.UP_TO_DATE)]
    if not rolling:
        plane.set(conditions.false(T.ROLLING_OUT, Reason.NOT_ROLLING_OUT))
        return
    result = {
        line
        for machine in rolling
        for line in conditions.message_of(machine.status.conditions, T.UP_TO_DATE).split("\n")
        if line
    }
    lines = [f"Rolling out {len(rolling)} not up-to-date replicas"]
    lines += sorted(result, key=lambda line: (not line.startswith("* Version"), line))
    problems = [plane.undecided, plane.creation_problem, *unreachable.blockers(plane)]
    lines += [f"* {problem}" for problem in problems if problem]
    plane.set(conditions.true(T.ROLLING_OUT, Reason.ROLLING_OUT, "\n".join(lines)))


def _scaling_up(plane: ControlPlane) -> None:
    current, desired = len(plane.machines), _desired_replicas(plane)
    problem = plane.template_problem
    if current >= desired:
        message = f"Scaling up would be blocked because {problem}" if problem else ""
        plane.set(conditions.false(T.SCALING_UP, Reason.NOT_SCALING_UP, message))
        return
    blockers = _blockers(plane)
    blockers += [f"* {item}" for item in (problem, plane.creation_problem) if item]
    message = _blocked_message(f"Scaling up from {current} to {desired} replicas", blockers)
    plane.set(conditions.true(T.SCALING_UP, Reason.SCALING_UP, message))


def _scaling_down(plane: ControlPlane) -> None:
    current, desired = len(plane.machines), _desired_replicas(plane)
    if current <= desired:
        plane.set(conditions.false(T.SCALING_DOWN, Reason.NOT_SCALING_DOWN))
        return
    stale = stale_machines(plane.machines, plane.now)
    blockers = _blockers(plane) + ([f"* {stale}"] if stale else [])
    message = _blocked_message(f"Scaling down from {current} to {desired} replicas", blockers)
    plane.set(conditions.true(T.SCALING_DOWN, Reason.SCALING_DOWN, message))


def _desired_replicas(plane: ControlPlane) -> int:
    return 0 if plane.kcp.deleting else plane.desired_replicas


def _blocked_message(message: str, blockers: list[str]) -> str:
    return f"{message} is blocked because:\n" + "\n".join(blockers) if blockers else message


def _blockers(plane: ControlPlane) -> list[str]:
    preflight, blockers = (
        plane.preflight,
        [f"* {blocker}" for blocker in unreachable.blockers(plane)],
    )
    if preflight.topology_version:
        blockers.append(
            f"* waiting for a version upgrade to {preflight.topology_version} to be propagated"
        )
    if preflight.deleting_machine:
        blockers.append("* waiting for a control plane Machine to complete deletion")
    if preflight.certificate_missing:
        blockers.append("* cluster certificates are missing or unknown")
    if preflight.components_not_healthy:
        blockers.append("* waiting for control plane components to become healthy")
    if preflight.etcd_not_healthy:
        blockers.append("* waiting for etcd cluster to become healthy")
    return blockers


def _machines_ready(plane: ControlPlane) -> None:
    if not plane.machines:
        plane.set(conditions.true(T.MACHINES_READY, Reason.NO_REPLICAS))
        return
    merge = conditions.Merge(
        reason=conditions.reasons(Reason.NOT_READY, Reason.READY_UNKNOWN, Reason.READY)
    )
    target = T.MACHINES_READY
    plane.set(conditions.aggregate(plane.machines, T.READY, target=target, merge=merge))


def _machines_up_to_date(plane: ControlPlane) -> None:
    """The MachinesUpToDate condition; a new Machine counts only once it reports, to avoid
    flapping."""
    machines = [
        machine
        for machine in plane.machines
        if conditions.has(machine.status.conditions, T.UP_TO_DATE)
        or plane.now - creation_time(machine) > _NEW_MACHINE_PERIOD
    ]
    if not machines:
        plane.set(conditions.true(T.MACHINES_UP_TO_DATE, Reason.NO_REPLICAS))
        return
    merge = conditions.Merge(
        reason=conditions.reasons(
            Reason.NOT_UP_TO_DATE, Reason.UP_TO_DATE_UNKNOWN, Reason.UP_TO_DATE
        )
    )
    target = T.MACHINES_UP_TO_DATE
    plane.set(conditions.aggregate(machines, T.UP_TO_DATE, target=target, merge=merge))


def _remediating(plane: ControlPlane) -> None:
    ours = [machine for machine in plane.machines if is_to_be_remediated(machine)]
    if ours:
        condition = conditions.aggregate(ours, T.OWNER_REMEDIATED, target=T.REMEDIATING)
        plane.set(conditions.true(T.REMEDIATING, Reason.REMEDIATING, condition.message))
        return
    unhealthy = [
        machine.metadata.name
        for machine in plane.machines
        if is_false(machine, T.HEALTH_CHECK_SUCCEEDED)
    ]
    rest = "not healthy (not to be remediated by KubeadmControlPlane)"
    message = machines_are(unhealthy, rest)
    plane.set(conditions.false(T.REMEDIATING, Reason.NOT_REMEDIATING, message))


def _last_remediation(plane: ControlPlane) -> None:
    """Set `status.lastRemediation`: the current one, or the last one recorded on a Machine;
    unreadable records are ignored."""
    text = plane.kcp.metadata.annotations.get(Annotation.REMEDIATION_IN_PROGRESS)
    result: list[Attempt] = []
    with suppress(BadAttempt):
        if text is not None:
            result = [parse_attempt(text, Annotation.REMEDIATION_IN_PROGRESS)]
        else:
            attempts = (previous_attempt(machine) for machine in plane.machines)
            result = [attempt for attempt in attempts if attempt is not None]
    dated = [(attempt.time, attempt) for attempt in result if attempt.time is not None]
    if dated:
        plane.kcp.status.last_remediation = max(dated, key=itemgetter(0))[1].status


def _deleting(plane: ControlPlane) -> None:
    if not plane.kcp.deleting:
        plane.set(conditions.false(T.DELETING, Reason.NOT_DELETING))
        return
    reason = plane.deleting_reason or Reason.INTERNAL_ERROR
    plane.set(conditions.true(T.DELETING, reason, plane.deleting_message))
