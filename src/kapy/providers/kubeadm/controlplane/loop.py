"""The control plane loop of the SDK with what is special about kubeadm and etcd."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeAlias

from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine import Machine
from kapy.api.machines import is_updating_in_place
from kapy.api.names import Annotation, Reason
from kapy.api.names import ConditionType as T
from kapy.api.names_v1beta1 import V1Beta1Reason, V1Beta1Type
from kapy.kube.errors import KapyError
from kapy.kube.int_or_percent import int_value
from kapy.providers.kubeadm.bootstrap.discovery import endpoint_of
from kapy.providers.kubeadm.controlplane import etcd_members, in_place, upgrade
from kapy.providers.kubeadm.controlplane.addons import update_addons
from kapy.providers.kubeadm.controlplane.certificates import (
    ensure_certificates,
    ensure_kubeconfig,
    record_expiries,
)
from kapy.providers.kubeadm.controlplane.components import components_of
from kapy.providers.kubeadm.controlplane.creation import create_machine, own_template
from kapy.providers.kubeadm.controlplane.dependencies import Dependencies
from kapy.providers.kubeadm.controlplane.health import observe
from kapy.providers.kubeadm.controlplane.machines import update_machines
from kapy.providers.kubeadm.controlplane.preflight import is_stable
from kapy.providers.kubeadm.controlplane.remediation import remediate
from kapy.providers.kubeadm.controlplane.scope import ControlPlane, is_false, v1beta1_conditions_of
from kapy.sdk import DONE, Result, conditions, v1beta1
from kapy.sdk.machine_control_plane import MachineLoop, Step, failure_domains, select_for_deletion

KubeadmStep: TypeAlias = Callable[[Dependencies, ControlPlane], Awaitable[Result | None]]
"""A step of the loop as a function."""


class KubeadmLoop(MachineLoop):
    """One reconcile of a KubeadmControlPlane."""

    def __init__(self, dependencies: Dependencies, plane: ControlPlane) -> None:
        super().__init__(dependencies.runtime.client, Annotation.KCP_CLEANUP_HOOK)
        self._dependencies = dependencies
        self._plane = plane

    @property
    def machines(self) -> Sequence[Machine]:
        return self._plane.machines

    @property
    def outdated_machines(self) -> Sequence[Machine]:
        return self._plane.machines_to_replace

    @property
    def desired_replicas(self) -> int:
        return self._plane.desired_replicas

    @property
    def max_surge(self) -> int:
        return max_surge(self._plane.kcp)

    def steps(self) -> Sequence[Step]:
        return (
            self._step(own_template),
            self._step(await_infrastructure),
            self._step(ensure_certificates),
            self._step(await_endpoint),
            self._step(ensure_kubeconfig),
            self._step(update_machines),
            self._step(observe),
            self._step(etcd_members.remove_unowned_members),
            self.release_deleting,
            self._step(in_place.complete_updates),
            self._step(remediate),
            self._step(await_updates),
            self.scale,
            self._step(update_addons),
            self._step(record_expiries),
        )

    def _step(self, function: KubeadmStep) -> Step:
        return partial(function, self._dependencies, self._plane)

    async def release_deleting(self) -> Result | None:
        """Let one Machine in deletion be shut down: the first one that etcd can lose.

        If there is none, a broken Machine may be remediated: while its etcd member is lost, etcd
        cannot lose another one, so the Machines in deletion may wait for the remediation.
        """
        deleting = [item for item in self.machines if item.deleting]
        if not deleting:
            return None
        for machine in etcd_members.shutdown_candidates(self._plane, deleting):
            if await self.prepare_shutdown(machine):
                await self.drop_hook(machine)
                return DONE
        return await remediate(self._dependencies, self._plane) or DONE

    async def prepare_shutdown(self, machine: Machine) -> bool:
        return await etcd_members.leave_cluster(self._dependencies, self._plane, machine)

    async def scale(self) -> Result | None:
        _report_rollout(self._plane)
        return await super().scale()

    async def prepare_rollout(self) -> None:
        await upgrade.prepare_workload(self._dependencies, self._plane)

    def may_change(self, leaving: Machine | None) -> bool:
        return is_stable(self._dependencies, self._plane, scale_up=leaving is None, leaving=leaving)

    def select_for_deletion(self) -> Machine | None:
        return leaving_machine(self._plane, self.outdated_machines)

    async def update_in_place(self, machine: Machine) -> bool:
        return await in_place.update_in_place(self._dependencies, self._plane, machine)

    async def create_machine(self, *, first: bool) -> None:
        plane, reason = self._plane, "FailedScaleUp"
        failure = f"Failed to create additional control plane Machine for cluster {self._cluster}"
        if first:
            waiting = V1Beta1Reason.WAITING_FOR_KUBEADM_INIT
            plane.set_v1beta1(v1beta1.false(V1Beta1Type.AVAILABLE, waiting, v1beta1.INFO))
            reason = "FailedInitialization"
            failure = (
                "Failed to create initial control plane Machine for cluster"
                f" {self._cluster} control plane"
            )
        try:
            await create_machine(self._dependencies, plane, join=not first)
        except KapyError as error:
            self._warn(reason, f"{failure}: {error}")
            raise

    async def prepare_deletion(self, machine: Machine) -> None:
        """Move the etcd leader away. The Machine's member is removed when its Node is drained."""
        if self._plane.is_etcd_managed:
            await etcd_members.move_etcd_leader(self._dependencies, self._plane, machine)

    async def delete_machine(self, machine: Machine) -> None:
        try:
            await super().delete_machine(machine)
        except KapyError as error:
            self._warn(
                "FailedScaleDown",
                f"Failed to delete control plane Machine {machine.metadata.name} for cluster"
                f" {self._cluster} control plane: {error}",
            )
            raise

    @property
    def _cluster(self) -> str:
        return str(self._plane.cluster.key)

    def _warn(self, reason: str, message: str) -> None:
        self._dependencies.recorder.warning(self._plane.kcp, reason, message)


async def await_infrastructure(_: Dependencies, plane: ControlPlane) -> Result | None:
    """Wait for the infrastructure of the Cluster."""
    if plane.cluster.status.initialization.infrastructure_provisioned:
        return None
    report_not_inspected(plane, "Waiting for Cluster status.infrastructureReady to be true")
    return DONE


async def await_endpoint(_: Dependencies, plane: ControlPlane) -> Result | None:
    """Wait for the endpoint of the Cluster."""
    if endpoint_of(plane.cluster):
        return None
    report_not_inspected(plane, "Waiting for Cluster spec.controlPlaneEndpoint to be set")
    return DONE


async def await_updates(_: Dependencies, plane: ControlPlane) -> Result | None:
    """Wait for in-place updates; the Machine's change enqueues the control plane."""
    return DONE if any(map(is_updating_in_place, plane.machines)) else None


def report_not_inspected(plane: ControlPlane, message: str) -> None:
    """Report why nothing is known about components and etcd."""
    types = [T.CONTROL_PLANE_COMPONENTS_HEALTHY]
    if plane.is_etcd_managed:
        types.append(T.ETCD_CLUSTER_HEALTHY)
    for type_ in types:
        plane.set(conditions.unknown(type_, Reason.INSPECTION_FAILED, message))


def max_surge(kcp: KubeadmControlPlane) -> int:
    """Return how many Machines more than desired may exist in a rollout: 1 or 0."""
    strategy = kcp.spec.rollout.strategy
    surge = strategy.rolling_update.max_surge if strategy is not None else None
    return 1 if surge is None else int_value(surge)


def leaving_machine(plane: ControlPlane, outdated: Sequence[Machine]) -> Machine | None:
    """Return the Machine that is deleted next."""
    broken = [machine for machine in outdated if _is_broken(plane, machine)]
    return select_for_deletion(plane.machines, outdated, broken, failure_domains(plane.cluster))


def _is_broken(plane: ControlPlane, machine: Machine) -> bool:
    types = [*components_of(plane).values()]
    if plane.is_etcd_managed:
        types.append(T.ETCD_MEMBER_HEALTHY)
    return any(is_false(machine, type_) for type_ in types)


def _report_rollout(plane: ControlPlane) -> None:
    """Report a rollout in v1beta1. Its end is reported only if its beginning was."""
    rolling, type_ = len(plane.machines_to_replace), V1Beta1Type.MACHINES_SPEC_UP_TO_DATE
    if rolling:
        message = (
            f"Rolling {rolling} replicas with outdated spec"
            f" ({len(plane.machines) - rolling} replicas up to date)"
        )
        reason = V1Beta1Reason.ROLLING_UPDATE_IN_PROGRESS
        plane.set_v1beta1(v1beta1.false(type_, reason, v1beta1.WARNING, message))
    elif v1beta1.get(v1beta1_conditions_of(plane.kcp), type_) is not None:
        plane.set_v1beta1(v1beta1.true(type_))
