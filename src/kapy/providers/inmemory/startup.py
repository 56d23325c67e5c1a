"""The start-up progress of a machine, computed from its durations and the time. Pure.

The order is upstream's: the VM; then the Node; then, on a control plane machine, etcd and the API
server concurrently.

A v1beta1 condition reports only that a part is up, or that the machine itself waits. A part that
waits for another part has no v1beta1 condition. A failed part keeps its last condition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Final, Literal

from kapy.api.condition import Condition, V1Beta1Condition
from kapy.api.dev_machine import CommonProvisioningSettings, InMemoryMachineBackendSpec
from kapy.api.names import ConditionType, Reason
from kapy.api.names_v1beta1 import V1Beta1Reason
from kapy.kube.duration import parse
from kapy.kube.errors import KapyError
from kapy.providers.inmemory.workload.cluster import Milestones
from kapy.sdk import conditions, v1beta1

_WAITING: Final[Mapping[str, str]] = {
    Reason.WAITING_FOR_CLUSTER_INFRASTRUCTURE_READY: (
        V1Beta1Reason.WAITING_FOR_CLUSTER_INFRASTRUCTURE
    ),
    Reason.WAITING_FOR_CONTROL_PLANE_INITIALIZED: V1Beta1Reason.WAITING_CONTROL_PLANE_INITIALIZED,
    Reason.WAITING_FOR_BOOTSTRAP_DATA: V1Beta1Reason.WAITING_FOR_BOOTSTRAP_DATA,
    Reason.WAITING_FOR_STARTUP_TIMEOUT: V1Beta1Reason.WAITING_FOR_STARTUP_TIMEOUT,
}


def reported_v1beta1(conditions: Sequence[Condition]) -> list[V1Beta1Condition]:
    """Return the v1beta1 conditions that follow from the conditions of a DevMachine."""
    v1beta1s = (_v1beta1(condition) for condition in conditions)
    return [beta1_condition for beta1_condition in v1beta1s if beta1_condition is not None]


def _v1beta1(condition: Condition) -> V1Beta1Condition | None:
    if condition.status == conditions.TRUE:
        return v1beta1.true(condition.type)
    reason = _WAITING.get(condition.reason)
    return None if reason is None else v1beta1.false(condition.type, reason, v1beta1.INFO)


NOTHING: Final = timedelta(0)

Part = Literal["VM", "node", "etcd", "API server"]


class BadDuration(KapyError):
    """A start-up duration or jitter is invalid."""


@dataclass(frozen=True, slots=True)
class Durations:
    """The start-up durations of one machine's parts."""

    vm: timedelta
    node: timedelta
    etcd: timedelta
    api_server: timedelta

    @classmethod
    def of(cls, spec: InMemoryMachineBackendSpec, seed: str) -> Durations:
        """Return the durations of a spec with jitter; equal seeds give equal results. Raises
        BadDuration.

        seed: identifies the machine, so that machines do not start in lockstep.
        """
        return cls(
            vm=_duration("VM", spec.vm.provisioning if spec.vm else None, seed),
            node=_duration("node", spec.node.provisioning if spec.node else None, seed),
            etcd=_duration("etcd", spec.etcd.provisioning if spec.etcd else None, seed),
            api_server=_duration(
                "API server", spec.api_server.provisioning if spec.api_server else None, seed
            ),
        )


def _duration(part: Part, wanted: CommonProvisioningSettings | None, seed: str) -> timedelta:
    if wanted is None:
        return NOTHING
    try:
        duration = parse(wanted.startup_duration)
        jitter = float(wanted.startup_jitter or 0)
    except ValueError as error:
        raise BadDuration(f"failed to parse {part}'s provisioning: {error}") from None
    if jitter > 0:
        duration += duration * jitter * Random(f"{seed}/{part}").random()
    return duration


@dataclass(frozen=True, slots=True)
class Progress:
    """The parts that run at some time, and when the next part starts (None: nothing is pending)."""

    vm: bool
    node: bool
    etcd: bool
    api_server: bool
    due: datetime | None


def progress(
    durations: Durations, reached: Milestones, now: datetime, *, control_plane: bool
) -> Progress:
    """Return the progress of a machine; record in `reached` when its VM and Node came up."""
    due = reached.begun + durations.vm
    if reached.vm is None:
        if now < due:
            return Progress(vm=False, node=False, etcd=False, api_server=False, due=due)
        reached.vm = now
    due = reached.vm + durations.node
    if reached.node is None:
        if now < due:
            return Progress(vm=True, node=False, etcd=False, api_server=False, due=due)
        reached.node = now
    etcd, api_server = reached.node + durations.etcd, reached.node + durations.api_server
    pending = [time for time in (etcd, api_server) if now < time] if control_plane else []
    return Progress(
        vm=True,
        node=True,
        etcd=control_plane and now >= etcd,
        api_server=control_plane and now >= api_server,
        due=min(pending, default=None),
    )


def reported(value: Progress, *, control_plane: bool) -> list[Condition]:
    """Return the conditions that report the progress, in start-up order."""
    vm = _progress_condition(ConditionType.VM_PROVISIONED, done=value.vm)
    node = _progress_condition(
        ConditionType.NODE_PROVISIONED, done=value.node, after_vm=not value.vm
    )
    if not control_plane:
        return [vm, node]
    waits = {"after_vm": not value.vm, "after_node": not value.node}
    etcd = _progress_condition(ConditionType.ETCD_PROVISIONED, done=value.etcd, **waits)
    server = _progress_condition(
        ConditionType.API_SERVER_PROVISIONED, done=value.api_server, **waits
    )
    return [vm, node, etcd, server]


def waiting_conditions(reason: str, *, control_plane: bool) -> list[Condition]:
    """Return the conditions of a machine that is not allowed to start yet."""
    nothing = Progress(vm=False, node=False, etcd=False, api_server=False, due=None)
    first, *others = reported(nothing, control_plane=control_plane)
    return [conditions.false(first.type, reason), *others]


def _progress_condition(
    type_: str, *, done: bool, after_vm: bool = False, after_node: bool = False
) -> Condition:
    if done:
        return conditions.true(type_, Reason.PROVISIONED)
    if after_vm:
        return conditions.false(type_, Reason.WAITING_FOR_VM_PROVISIONED)
    if after_node:
        return conditions.false(type_, Reason.WAITING_FOR_NODE_PROVISIONED)
    return conditions.false(type_, Reason.WAITING_FOR_STARTUP_TIMEOUT)
