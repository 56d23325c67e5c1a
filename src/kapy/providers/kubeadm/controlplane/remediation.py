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
from kapy.providers.kubeadm.controlplane.attempts import (
    Attempt,
    BadAttempt,
    TooOften,
    TooSoon,
    next_attempt,
    parse_attempt,
)
from kapy.providers.kubeadm.controlplane.members import lead_away, member_name
from kapy.providers.kubeadm.controlplane.preflight import pending_topology_version
from kapy.providers.kubeadm.controlplane.projection import components_survive, etcd_survives
from kapy.providers.kubeadm.controlplane.scope import (
    ControlPlane,
    has_node,
    is_false,
    is_to_be_remediated,
    is_true,
    legacy_of,
)
from kapy.providers.kubeadm.controlplane.tools import Tools
from kapy.sdk import (
    DONE,
    Draft,
    Result,
    conditions,
    creation_time,
    requeue,
    v1beta1,
)

_ETCD: Final = (T.ETCD_MEMBER_HEALTHY, T.ETCD_POD_HEALTHY)
_COMPONENTS: Final = (
    T.API_SERVER_POD_HEALTHY,
    T.CONTROLLER_MANAGER_POD_HEALTHY,
    T.SCHEDULER_POD_HEALTHY,
    T.NODE_KUBEADM_LABELS_AND_TAINTS_SET,
)


@dataclass(frozen=True, slots=True)
class Obstacle:
    """The reason for which a Machine is not replaced now."""

    reason: str
    message: str


async def remediate(tools: Tools, plane: ControlPlane) -> Result | None:
    """Delete the most broken of the marked Machines; None if there is none or it must wait.

    Raises errors of etcd and of the API server.
    """
    await _forget_recovered(plane)
    _drop_stale_mark(plane)
    machine = most_broken(plane)
    in_progress = Annotation.REMEDIATION_IN_PROGRESS in plane.kcp.metadata.annotations
    if machine is None or machine.deleting or in_progress:
        return None
    try:
        return await _remediate(tools, plane, machine)
    finally:
        with suppress(NotFound):  # nothing kept it once it was deleted
            await _draft_of(plane, machine).save()


def most_broken(plane: ControlPlane) -> Machine | None:
    """The Machine to be replaced first.

    What a person marked, then what has no Node, then what has trouble with etcd, then with the
    other components; of equals the oldest. The more broken it was, the better the chance that what
    remains is fit to take in another.
    """
    types = (*(_ETCD if plane.is_etcd_managed else ()), *_COMPONENTS)
    return min(
        (one for one in plane.machines if is_to_be_remediated(one)),
        key=lambda one: (
            Annotation.REMEDIATE_MACHINE not in one.metadata.annotations,
            has_node(one),
            *(is_true(one, type_) for type_ in types),
            creation_time(one),
            one.metadata.name,
        ),
        default=None,
    )


async def _remediate(tools: Tools, plane: ControlPlane, machine: Machine) -> Result | None:
    attempt = _planned(tools, plane, machine)
    if isinstance(attempt, Obstacle):
        _hold(plane, machine, attempt)
        return None
    if plane.is_initialized and plane.is_etcd_managed:
        await _step_down(tools, plane, machine)
    await _delete(tools, plane, machine)
    plane.kcp.metadata.annotations[Annotation.REMEDIATION_IN_PROGRESS] = str(attempt)
    return DONE


def _planned(tools: Tools, plane: ControlPlane, machine: Machine) -> Attempt | Obstacle:
    """The attempt to make now, or the obstacle."""
    version = pending_topology_version(plane)
    if version:
        message = (
            f"KubeadmControlPlane can't remediate while waiting for a version upgrade to {version}"
            " to be propagated from Cluster.spec.topology"
        )
        return Obstacle(Reason.REMEDIATION_DEFERRED, message)
    try:
        attempt = next_attempt(plane.kcp.spec.remediation, machine, plane.now)
    except BadAttempt as error:
        return Obstacle(Reason.CANNOT_BE_REMEDIATED, str(error))
    if not isinstance(attempt, Attempt):
        return _limited(plane, attempt)
    # Before initialization there is nothing that could be lost.
    obstacle = _obstacle(tools, plane, machine) if plane.is_initialized else None
    return obstacle or attempt


def _limited(plane: ControlPlane, limit: TooSoon | TooOften) -> Obstacle:
    said = "KubeadmControlPlane can't remediate this machine because the operation already failed"
    if isinstance(limit, TooOften):
        message = f"{said} {limit.most} times (MaxRetry)"
        return Obstacle(Reason.CANNOT_BE_REMEDIATED, message)
    # A timer, because the end of the period is no event.
    plane.wake_by(requeue(after=limit.left, because="remediation may not be tried again yet"))
    message = f"{said} in the latest {duration.text(limit.period)} (RetryPeriodSeconds)"
    return Obstacle(Reason.REMEDIATION_DEFERRED, message)


def _obstacle(tools: Tools, plane: ControlPlane, machine: Machine) -> Obstacle | None:
    """The obstacle to removing a Machine from a working cluster."""
    if len(plane.machines) <= 1:
        message = "KubeadmControlPlane can't remediate if current replicas are less or equal to 1"
        return Obstacle(Reason.CANNOT_BE_REMEDIATED, message)
    if any(map(_is_coming_up, plane.machines)):
        message = (
            "KubeadmControlPlane waiting for control plane Machine provisioning to complete before"
            " triggering remediation"
        )
        return Obstacle(Reason.REMEDIATION_DEFERRED, message)
    if plane.nodes is None or (plane.is_etcd_managed and not plane.etcd.members):
        message = "Failed to check etcd cluster health before remediation"
        return Obstacle(Reason.REMEDIATION_DEFERRED, message)
    if not _survives(tools, plane, machine):
        message = (
            "KubeadmControlPlane can't remediate this Machine because this could result in loosing"
            " Kubernetes control plane components or in etcd quorum loss"
        )
        return Obstacle(Reason.CANNOT_BE_REMEDIATED, message)
    return None


def _is_coming_up(machine: Machine) -> bool:
    return not (has_node(machine) or is_false(machine, T.HEALTH_CHECK_SUCCEEDED))


def _survives(tools: Tools, plane: ControlPlane, machine: Machine) -> bool:
    """Whether the control plane works without the Machine.

    Of a Machine that never became a Node nobody can tell whether it has a member of etcd.
    """
    if not components_survive(plane, without=machine.metadata.name):
        return False
    member = member_name(tools, plane, machine) if plane.is_etcd_managed else ""
    return not member or etcd_survives(plane, without=member)


async def _step_down(tools: Tools, plane: ControlPlane, machine: Machine) -> None:
    """Move the etcd leader away; the member is removed later, after the node was drained."""
    try:
        await lead_away(tools, plane, machine)
    except KapyError as error:
        _tell(plane, machine, Reason.CANNOT_BE_REMEDIATED, str(error))
        _tell_v1beta1(plane, machine, V1Beta1Reason.REMEDIATION_FAILED, v1beta1.ERROR, str(error))
        raise


async def _delete(tools: Tools, plane: ControlPlane, machine: Machine) -> None:
    try:
        await tools.runtime.client.delete(Machine.RESOURCE, machine.key, uid=machine.metadata.uid)
    except KapyError as error:
        _tell(plane, machine, Reason.INTERNAL_ERROR, LOOK_AT_LOGS)
        _tell_v1beta1(plane, machine, V1Beta1Reason.REMEDIATION_FAILED, v1beta1.ERROR, str(error))
        raise
    _tell(plane, machine, Reason.MACHINE_DELETING, "Machine is deleting")
    _tell_v1beta1(plane, machine, V1Beta1Reason.REMEDIATION_IN_PROGRESS, v1beta1.WARNING, "")


def _hold(plane: ControlPlane, machine: Machine, obstacle: Obstacle) -> None:
    """Report the obstacle on the Machine; other steps continue."""
    _tell(plane, machine, obstacle.reason, obstacle.message)
    said = obstacle.message.replace("control plane Machine ", "control plane machine ")
    reason = V1Beta1Reason.WAITING_FOR_REMEDIATION
    _tell_v1beta1(plane, machine, reason, v1beta1.WARNING, said)


def _tell(plane: ControlPlane, machine: Machine, reason: str, message: str) -> None:
    plane.set_on(machine, conditions.false(T.OWNER_REMEDIATED, reason, message))


def _tell_v1beta1(
    plane: ControlPlane, machine: Machine, reason: str, severity: str, message: str
) -> None:
    type_ = V1Beta1Type.OWNER_REMEDIATED
    plane.set_v1beta1_on(machine, v1beta1.false(type_, reason, severity, message))


async def _forget_recovered(plane: ControlPlane) -> None:
    """Remove the marks of Machines that have recovered."""
    for draft in plane.drafts:
        if not draft.object.deleting and _forget(draft.object):
            with suppress(NotFound):  # it just went: that wakes us
                await draft.save()


def _forget(machine: Machine) -> bool:
    """Remove the marks of a Machine that its health check reports healthy; False if it has none."""
    recovered = is_true(machine, T.HEALTH_CHECK_SUCCEEDED) and is_false(machine, T.OWNER_REMEDIATED)
    if recovered:
        conditions.delete_condition(machine, T.OWNER_REMEDIATED)
    legacy = {one.type: one.status for one in legacy_of(machine)}
    checked = legacy.get(V1Beta1Type.HEALTH_CHECK_SUCCEEDED)
    marked = legacy.get(V1Beta1Type.OWNER_REMEDIATED)
    if (checked, marked) != (conditions.TRUE, conditions.FALSE):
        return recovered
    v1beta1.delete_condition(v1beta1.conditions_of(machine), V1Beta1Type.OWNER_REMEDIATED)
    return True


def _drop_stale_mark(plane: ControlPlane) -> None:
    """A crash may have come between making the Machine and taking the mark away.

    A mark that nobody can read marks nothing.
    """
    annotations, mark = plane.kcp.metadata.annotations, Annotation.REMEDIATION_IN_PROGRESS
    if mark not in annotations:
        return
    try:
        began = parse_attempt(annotations[mark], mark).time
    except BadAttempt:
        began = None
    if began is None or any(creation_time(one) > began for one in plane.machines):
        del annotations[mark]


def _draft_of(plane: ControlPlane, machine: Machine) -> Draft[Machine]:
    return next(one for one in plane.drafts if one.object is machine)
