"""Replaces unhealthy Machines, one at a time.

A MachineHealthCheck marks them (HealthCheckSucceeded and OwnerRemediated are False). This module
deletes the most broken one if the control plane survives it; scaling up creates its replacement.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from kapy.api.machine import Machine
from kapy.api.names import Annotation, Reason
from kapy.api.names import ConditionType as T
from kapy.api.names_v1beta1 import V1Beta1Reason, V1Beta1Type
from kapy.api.wording import LOOK_AT_LOGS
from kapy.kube import duration
from kapy.kube.errors import KapyError, NotFound
from kapy.providers.kubeadm.controlplane.dependencies import Dependencies
from kapy.providers.kubeadm.controlplane.etcd_members import member_name, move_etcd_leader
from kapy.providers.kubeadm.controlplane.preflight import (
    components_survive,
    etcd_survives,
    pending_topology_version,
)
from kapy.providers.kubeadm.controlplane.remediation_attempts import (
    Attempt,
    BadAttempt,
    TooOften,
    TooSoon,
    next_attempt,
    parse_attempt,
)
from kapy.providers.kubeadm.controlplane.scope import (
    ControlPlane,
    has_node,
    is_false,
    is_to_be_remediated,
    is_true,
    v1beta1_conditions_of,
)
from kapy.sdk import DONE, Result, conditions, requeue, v1beta1
from kapy.sdk.controllers import Draft
from kapy.sdk.machine_control_plane import creation_time

_ETCD: Final = (T.ETCD_MEMBER_HEALTHY, T.ETCD_POD_HEALTHY)
_COMPONENTS: Final = (
    T.API_SERVER_POD_HEALTHY,
    T.CONTROLLER_MANAGER_POD_HEALTHY,
    T.SCHEDULER_POD_HEALTHY,
    T.NODE_KUBEADM_LABELS_AND_TAINTS_SET,
)


@dataclass(frozen=True, slots=True)
class PreflightFailure:
    """The reason for which a Machine is not replaced now."""

    reason: str
    message: str


async def remediate(dependencies: Dependencies, plane: ControlPlane) -> Result | None:
    """Delete the most broken of the marked Machines; None if there is none or it must wait.

    Raises errors of etcd and of the API server.
    """
    await _unmark_recovered(plane)
    _drop_stale_mark(plane)
    machine = most_broken(plane)
    in_progress = Annotation.REMEDIATION_IN_PROGRESS in plane.kcp.metadata.annotations
    if machine is None or machine.deleting or in_progress:
        return None
    try:
        return await _remediate(dependencies, plane, machine)
    finally:
        with suppress(NotFound):  # it had no finalizers and is gone
            await _draft_of(plane, machine).save()


def most_broken(plane: ControlPlane) -> Machine | None:
    """Return the Machine to be replaced first. The order is: Machines that a user marked, Machines
    without a Node, Machines with etcd problems, Machines with other component problems, then the
    oldest. Removing the most broken Machine leaves the healthiest control plane.
    """
    types = (*(_ETCD if plane.is_etcd_managed else ()), *_COMPONENTS)
    return min(
        (machine for machine in plane.machines if is_to_be_remediated(machine)),
        key=lambda machine: (
            Annotation.REMEDIATE_MACHINE not in machine.metadata.annotations,
            has_node(machine),
            *(is_true(machine, type_) for type_ in types),
            creation_time(machine),
            machine.metadata.name,
        ),
        default=None,
    )


async def _remediate(
    dependencies: Dependencies, plane: ControlPlane, machine: Machine
) -> Result | None:
    attempt = _plan_attempt(dependencies, plane, machine)
    if isinstance(attempt, PreflightFailure):
        _defer(plane, machine, attempt)
        return None
    if plane.is_initialized and plane.is_etcd_managed:
        await _move_leader(dependencies, plane, machine)
    await _delete(dependencies, plane, machine)
    plane.kcp.metadata.annotations[Annotation.REMEDIATION_IN_PROGRESS] = str(attempt)
    return DONE


def _plan_attempt(
    dependencies: Dependencies, plane: ControlPlane, machine: Machine
) -> Attempt | PreflightFailure:
    """Return the attempt to make now, or the obstacle."""
    version = pending_topology_version(plane)
    if version:
        message = (
            f"KubeadmControlPlane can't remediate while waiting for a version upgrade to {version}"
            " to be propagated from Cluster.spec.topology"
        )
        return PreflightFailure(Reason.REMEDIATION_DEFERRED, message)
    try:
        attempt = next_attempt(plane.kcp.spec.remediation, machine, plane.now)
    except BadAttempt as error:
        return PreflightFailure(Reason.CANNOT_BE_REMEDIATED, str(error))
    if not isinstance(attempt, Attempt):
        return _describe_limit(plane, attempt)
    # Before initialization nothing can be lost.
    obstacle = _preflight(dependencies, plane, machine) if plane.is_initialized else None
    return obstacle or attempt


def _describe_limit(plane: ControlPlane, limit: TooSoon | TooOften) -> PreflightFailure:
    result = "KubeadmControlPlane can't remediate this machine because the operation already failed"
    if isinstance(limit, TooOften):
        message = f"{result} {limit.max_retry} times (MaxRetry)"
        return PreflightFailure(Reason.CANNOT_BE_REMEDIATED, message)
    # A timer, because the end of the period is no event.
    plane.requeue_by(
        requeue(after=limit.remaining, because="remediation may not be tried again yet")
    )
    message = f"{result} in the latest {duration.text(limit.period)} (RetryPeriodSeconds)"
    return PreflightFailure(Reason.REMEDIATION_DEFERRED, message)


def _preflight(
    dependencies: Dependencies, plane: ControlPlane, machine: Machine
) -> PreflightFailure | None:
    """Return the obstacle to removing a Machine from a working cluster."""
    if len(plane.machines) <= 1:
        message = "KubeadmControlPlane can't remediate if current replicas are less or equal to 1"
        return PreflightFailure(Reason.CANNOT_BE_REMEDIATED, message)
    if any(map(_is_starting, plane.machines)):
        message = (
            "KubeadmControlPlane waiting for control plane Machine provisioning to complete before"
            " triggering remediation"
        )
        return PreflightFailure(Reason.REMEDIATION_DEFERRED, message)
    if plane.nodes is None or (plane.is_etcd_managed and not plane.etcd.members):
        message = "Failed to check etcd cluster health before remediation"
        return PreflightFailure(Reason.REMEDIATION_DEFERRED, message)
    if not _survives(dependencies, plane, machine):
        message = (
            "KubeadmControlPlane can't remediate this Machine because this could result in loosing"
            " Kubernetes control plane components or in etcd quorum loss"
        )
        return PreflightFailure(Reason.CANNOT_BE_REMEDIATED, message)
    return None


def _is_starting(machine: Machine) -> bool:
    return not (has_node(machine) or is_false(machine, T.HEALTH_CHECK_SUCCEEDED))


def _survives(dependencies: Dependencies, plane: ControlPlane, machine: Machine) -> bool:
    """Return whether the control plane works without the Machine. It is unknown whether a Machine
    that never had a Node has an etcd member.
    """
    if not components_survive(plane, without=machine.metadata.name):
        return False
    member = member_name(dependencies, plane, machine) if plane.is_etcd_managed else ""
    return not member or etcd_survives(plane, without=member)


async def _move_leader(dependencies: Dependencies, plane: ControlPlane, machine: Machine) -> None:
    """Move the etcd leader away; the member is removed later, after the node was drained."""
    try:
        await move_etcd_leader(dependencies, plane, machine)
    except KapyError as error:
        _report(plane, machine, Reason.CANNOT_BE_REMEDIATED, str(error))
        _report_v1beta1(plane, machine, V1Beta1Reason.REMEDIATION_FAILED, v1beta1.ERROR, str(error))
        raise


async def _delete(dependencies: Dependencies, plane: ControlPlane, machine: Machine) -> None:
    try:
        await dependencies.runtime.client.delete(
            Machine.RESOURCE, machine.key, uid=machine.metadata.uid
        )
    except KapyError as error:
        _report(plane, machine, Reason.INTERNAL_ERROR, LOOK_AT_LOGS)
        _report_v1beta1(plane, machine, V1Beta1Reason.REMEDIATION_FAILED, v1beta1.ERROR, str(error))
        raise
    _report(plane, machine, Reason.MACHINE_DELETING, "Machine is deleting")
    _report_v1beta1(plane, machine, V1Beta1Reason.REMEDIATION_IN_PROGRESS, v1beta1.WARNING, "")


def _defer(plane: ControlPlane, machine: Machine, obstacle: PreflightFailure) -> None:
    """Report the obstacle on the Machine; other steps continue."""
    _report(plane, machine, obstacle.reason, obstacle.message)
    result = obstacle.message.replace("control plane Machine ", "control plane machine ")
    reason = V1Beta1Reason.WAITING_FOR_REMEDIATION
    _report_v1beta1(plane, machine, reason, v1beta1.WARNING, result)


def _report(plane: ControlPlane, machine: Machine, reason: str, message: str) -> None:
    plane.set_on(machine, conditions.false(T.OWNER_REMEDIATED, reason, message))


def _report_v1beta1(
    plane: ControlPlane, machine: Machine, reason: str, severity: str, message: str
) -> None:
    type_ = V1Beta1Type.OWNER_REMEDIATED
    plane.set_v1beta1_on(machine, v1beta1.false(type_, reason, severity, message))


async def _unmark_recovered(plane: ControlPlane) -> None:
    """Remove the marks of Machines that have recovered."""
    for draft in plane.drafts:
        if not draft.object.deleting and _unmark(draft.object):
            with suppress(NotFound):  # it was just deleted, which enqueues the control plane
                await draft.save()


def _unmark(machine: Machine) -> bool:
    """Remove the marks of a Machine that its health check reports healthy; False if it has none."""
    recovered = is_true(machine, T.HEALTH_CHECK_SUCCEEDED) and is_false(machine, T.OWNER_REMEDIATED)
    if recovered:
        conditions.delete_condition(machine, T.OWNER_REMEDIATED)
    legacy = {condition.type: condition.status for condition in v1beta1_conditions_of(machine)}
    checked = legacy.get(V1Beta1Type.HEALTH_CHECK_SUCCEEDED)
    marked = legacy.get(V1Beta1Type.OWNER_REMEDIATED)
    if (checked, marked) != (conditions.TRUE, conditions.FALSE):
        return recovered
    v1beta1.delete_condition(v1beta1.conditions_of(machine), V1Beta1Type.OWNER_REMEDIATED)
    return True


def _drop_stale_mark(plane: ControlPlane) -> None:
    """Remove a mark that a crash left after its replacement was created, and that of a Machine that
    is gone and gets no replacement, as there are enough Machines. A mark that cannot be parsed is
    removed, too.
    """
    annotations, mark = plane.kcp.metadata.annotations, Annotation.REMEDIATION_IN_PROGRESS
    if mark not in annotations:
        return
    try:
        attempt = parse_attempt(annotations[mark], mark)
    except BadAttempt:
        del annotations[mark]
        return
    began, machines = attempt.time, plane.machines
    is_gone = all(machine.metadata.name != attempt.machine for machine in machines)
    is_replaced = began is None or any(creation_time(machine) > began for machine in machines)
    if is_replaced or (is_gone and len(machines) >= plane.desired_replicas):
        del annotations[mark]


def _draft_of(plane: ControlPlane, machine: Machine) -> Draft[Machine]:
    return next(draft for draft in plane.drafts if draft.object is machine)
