"""Adds, removes and replaces Machines, one at a time."""

from __future__ import annotations

from collections.abc import Sequence

from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine import Machine
from kapy.api.names import ConditionType as T
from kapy.api.names_v1beta1 import V1Beta1Reason, V1Beta1Type
from kapy.kube.errors import KapyError, NotFound
from kapy.kube.shares import int_value
from kapy.providers.kubeadm.controlplane.components import components_of
from kapy.providers.kubeadm.controlplane.creation import create_machine, failure_domains
from kapy.providers.kubeadm.controlplane.in_place import update_in_place
from kapy.providers.kubeadm.controlplane.members import lead_away
from kapy.providers.kubeadm.controlplane.preflight import is_stable
from kapy.providers.kubeadm.controlplane.scope import (
    ControlPlane,
    is_false,
    legacy_of,
)
from kapy.providers.kubeadm.controlplane.tools import Tools
from kapy.providers.kubeadm.controlplane.upgrade import prepare_workload
from kapy.sdk import (
    DONE,
    Result,
    select_for_deletion,
    v1beta1,
)


async def scale(tools: Tools, plane: ControlPlane) -> Result | None:
    """The next step towards the desired Machines; None if all exist and are up to date."""
    _tell_v1beta1(plane)
    if plane.needing_rollout:
        await prepare_workload(tools, plane)
        if len(plane.machines) < plane.desired_replicas + max_surge(plane.kcp):
            await _up(tools, plane)
        else:
            await _renew_one(tools, plane)
        return DONE
    current, desired = len(plane.machines), plane.desired_replicas
    if current < desired:
        await (_up(tools, plane) if current else _initialize(tools, plane))
        return DONE
    if current > desired:
        await _down(tools, plane, _next(plane, []))
        return DONE
    return None


async def _renew_one(tools: Tools, plane: ControlPlane) -> None:
    """There is no room for another Machine: one that is there is updated in place, or goes."""
    machine = _next(plane, plane.needing_rollout)
    if not await update_in_place(tools, plane, machine):
        await _down(tools, plane, machine)


def _next(plane: ControlPlane, outdated: Sequence[Machine]) -> Machine:
    machine = leaving_machine(plane, outdated)
    assert machine is not None  # somebody is too many, so somebody is there
    return machine


def _tell_v1beta1(plane: ControlPlane) -> None:
    """Of a rollout; its end is told only where its beginning was."""
    rolling, type_ = len(plane.needing_rollout), V1Beta1Type.MACHINES_SPEC_UP_TO_DATE
    if rolling:
        message = (
            f"Rolling {rolling} replicas with outdated spec"
            f" ({len(plane.machines) - rolling} replicas up to date)"
        )
        reason = V1Beta1Reason.ROLLING_UPDATE_IN_PROGRESS
        plane.set_v1beta1(v1beta1.false(type_, reason, v1beta1.WARNING, message))
    elif v1beta1.get(legacy_of(plane.kcp), type_) is not None:
        plane.set_v1beta1(v1beta1.true(type_))


def max_surge(kcp: KubeadmControlPlane) -> int:
    """How many Machines more than wanted there may be in a rollout: 1 or 0."""
    strategy = kcp.spec.rollout.strategy
    surge = strategy.rolling_update.max_surge if strategy is not None else None
    return 1 if surge is None else int_value(surge)


def leaving_machine(plane: ControlPlane, outdated: Sequence[Machine]) -> Machine | None:
    """The Machine to be deleted next."""
    broken = [one for one in outdated if _is_broken(plane, one)]
    return select_for_deletion(plane.machines, outdated, broken, failure_domains(plane.cluster))


async def _initialize(tools: Tools, plane: ControlPlane) -> None:
    reason = V1Beta1Reason.WAITING_FOR_KUBEADM_INIT
    plane.set_v1beta1(v1beta1.false(V1Beta1Type.AVAILABLE, reason, v1beta1.INFO))
    try:
        await create_machine(tools, plane, join=False)
    except KapyError as error:
        _warn(
            tools,
            plane,
            "FailedInitialization",
            "Failed to create initial control plane Machine for cluster"
            f" {plane.cluster.key} control plane: {error}",
        )
        raise


async def _up(tools: Tools, plane: ControlPlane) -> None:
    if not is_stable(tools, plane, scale_up=True):
        return
    try:
        await create_machine(tools, plane, join=True)
    except KapyError as error:
        _warn(
            tools,
            plane,
            "FailedScaleUp",
            "Failed to create additional control plane Machine for cluster"
            f" {plane.cluster.key}: {error}",
        )
        raise


async def _down(tools: Tools, plane: ControlPlane, machine: Machine) -> None:
    if not is_stable(tools, plane, scale_up=False, leaving=machine):
        return
    if plane.is_etcd_managed:
        # Its etcd member is removed later, when its node is drained.
        await lead_away(tools, plane, machine)
    try:
        await tools.runtime.client.delete(Machine.RESOURCE, machine.key, uid=machine.metadata.uid)
    except NotFound:
        return
    except KapyError as error:
        _warn(
            tools,
            plane,
            "FailedScaleDown",
            f"Failed to delete control plane Machine {machine.metadata.name} for cluster"
            f" {plane.cluster.key} control plane: {error}",
        )
        raise


def _is_broken(plane: ControlPlane, machine: Machine) -> bool:
    types = [*components_of(plane).values()]
    if plane.is_etcd_managed:
        types.append(T.ETCD_MEMBER_HEALTHY)
    return any(is_false(machine, type_) for type_ in types)


def _warn(tools: Tools, plane: ControlPlane, reason: str, message: str) -> None:
    tools.recorder.warning(plane.kcp, reason, message)
