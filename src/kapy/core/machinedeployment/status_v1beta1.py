"""The v1beta1 status of a MachineDeployment (`status.deprecated.v1beta1`; pure functions)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from kapy.api.condition import V1Beta1Condition
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_set import MachineSet, MachineSetV1Beta1DeprecatedStatus
from kapy.api.names_v1beta1 import V1Beta1Reason, V1Beta1Type
from kapy.conditions import v1beta1
from kapy.core.machinedeployment.fenceposts import max_unavailable
from kapy.core.machinedeployment.rollout import existing_replicas, replicas

NO_STATUS: Final = MachineSetV1Beta1DeprecatedStatus()


def report_rollout(
    deployment: MachineDeployment, new: MachineSet | None, sets: Sequence[MachineSet], now: datetime
) -> None:
    """Write counters and conditions after a step of a rollout.

    new: the set with the current template; sets: all sets.
    """
    legacy = v1beta1.conditions_of(deployment)
    _count(deployment, new, sets)
    v1beta1.set_condition(legacy, available(deployment), now)
    v1beta1.set_condition(legacy, machine_set_ready(new), now)


def summarize(deployment: MachineDeployment, now: datetime) -> None:
    """Write the condition Ready, summarized from the other conditions."""
    if deployment.status.deprecated is not None:
        legacy = v1beta1.conditions_of(deployment)
        v1beta1.set_condition(legacy, v1beta1.summary(legacy, (V1Beta1Type.AVAILABLE,)), now)


def _count(
    deployment: MachineDeployment, new: MachineSet | None, sets: Iterable[MachineSet]
) -> None:
    deprecated = deployment.status.deprecated
    assert deprecated is not None
    assert deprecated.v1beta1 is not None
    status, reports = (
        deprecated.v1beta1,
        [(machine_set, _deprecated_status(machine_set)) for machine_set in sets],
    )
    status.updated_replicas = 0 if new is None else existing_replicas(new)
    status.ready_replicas = sum(report.ready_replicas for _, report in reports)
    status.available_replicas = sum(report.available_replicas for _, report in reports)
    wanted = sum(replicas(machine_set) for machine_set, _ in reports)
    status.unavailable_replicas = max(wanted - status.available_replicas, 0)


def _deprecated_status(machine_set: MachineSet) -> MachineSetV1Beta1DeprecatedStatus:
    deprecated = machine_set.status.deprecated
    return (deprecated.v1beta1 if deprecated is not None else None) or NO_STATUS


def available(deployment: MachineDeployment) -> V1Beta1Condition:
    """Return the condition Available: whether at most `maxUnavailable` Machines are unavailable."""
    of, deprecated = V1Beta1Type.AVAILABLE, deployment.status.deprecated
    least = (deployment.spec.replicas or 0) - max_unavailable(deployment)
    status = deprecated.v1beta1 if deprecated is not None else None
    if status is not None and status.available_replicas >= least:
        return v1beta1.true(of)
    now = deployment.status.available_replicas or 0
    message = f"Minimum availability requires {least} replicas, current {now} available"
    reason = V1Beta1Reason.WAITING_FOR_AVAILABLE_MACHINES
    return v1beta1.false(of, reason, v1beta1.WARNING, message)


def machine_set_ready(new: MachineSet | None) -> V1Beta1Condition | None:
    """Return the condition MachineSetReady, copied from the set with the current template."""
    of, waiting = V1Beta1Type.MACHINE_SET_READY, V1Beta1Reason.WAITING_FOR_MACHINE_SET
    if new is None:
        return v1beta1.false(of, waiting, v1beta1.INFO, "MachineSet not found")
    ready = v1beta1.get(_deprecated_status(new).conditions, V1Beta1Type.READY)
    return v1beta1.mirror(ready, of, v1beta1.false(of, waiting, v1beta1.INFO))
