"""The status of control planes of Machines: counters, and conditions about the progress."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from kapy.api.condition import Condition
from kapy.api.embedded import StatusVersion
from kapy.api.machine import Machine
from kapy.api.names import ConditionType, Label, Reason
from kapy.conditions import aggregate, false, is_true, true
from kapy.sdk.control_plane_rollout import versions_of


class MachineCounters(Protocol):
    """The counters in the status of a control plane of Machines."""

    selector: str
    version: str
    versions: list[StatusVersion]
    replicas: int | None
    ready_replicas: int | None
    available_replicas: int | None
    up_to_date_replicas: int | None


def set_machine_counters(
    status: MachineCounters, cluster: str, machines: Sequence[Machine], up_to_date: int
) -> None:
    """Write the counters of the status. cluster: the name of the Cluster. up_to_date: the number of
    Machines that need not be replaced.
    """
    status.selector = f"{Label.CLUSTER_NAME}={cluster},{Label.CONTROL_PLANE}"
    status.versions = versions_of(machines)
    if status.versions:
        status.version = status.versions[0].version
    status.replicas = len(machines)
    status.ready_replicas = _count_true(machines, ConditionType.READY)
    status.available_replicas = _count_true(machines, ConditionType.AVAILABLE)
    status.up_to_date_replicas = up_to_date


def _count_true(machines: Sequence[Machine], type_: str) -> int:
    return sum(is_true(machine.status.conditions, type_) for machine in machines)


def progress_conditions(
    machines: Sequence[Machine], desired: int, outdated: dict[str, list[str]], blocked_by: str
) -> list[Condition]:
    """Return the conditions about the progress, which the Cluster summarizes.

    outdated: why Machines have to be replaced, by name. blocked_by: what the next step waits for.
    """
    current, waiting = len(machines), f" is blocked because:\n* {blocked_by}" if blocked_by else ""
    rolling = false(ConditionType.ROLLING_OUT, Reason.NOT_ROLLING_OUT)
    if outdated:
        lines = sorted({f"* {item}" for result in outdated.values() for item in result})
        message = "\n".join([f"Rolling out {len(outdated)} not up-to-date replicas", *lines])
        rolling = true(ConditionType.ROLLING_OUT, Reason.ROLLING_OUT, message)
    up = false(ConditionType.SCALING_UP, Reason.NOT_SCALING_UP)
    if current < desired:
        message = f"Scaling up from {current} to {desired} replicas{waiting}"
        up = true(ConditionType.SCALING_UP, Reason.SCALING_UP, message)
    down = false(ConditionType.SCALING_DOWN, Reason.NOT_SCALING_DOWN)
    if current > desired:
        message = f"Scaling down from {current} to {desired} replicas{waiting}"
        down = true(ConditionType.SCALING_DOWN, Reason.SCALING_DOWN, message)
    ready = true(ConditionType.MACHINES_READY, Reason.NO_REPLICAS)
    if machines:
        ready = aggregate(machines, ConditionType.READY, target=ConditionType.MACHINES_READY)
    return [rolling, up, down, ready]
