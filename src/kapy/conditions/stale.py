"""Describe what delays the deletion of Machines."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from kapy.api.machine import Machine
from kapy.api.names import ConditionType, Reason
from kapy.api.times import moment
from kapy.api.wording import machines_are
from kapy.conditions.lookup import TRUE, get

LONG: Final = timedelta(minutes=15)
LONG_DRAIN: Final = timedelta(minutes=5)

_DELAYS: Final = {
    "cannot evict pod as it would violate the pod's disruption budget.": "PodDisruptionBudgets",
    "deletionTimestamp set, but still not removed from the Node": "Pods not terminating",
    "failed to evict Pod": "Pod eviction errors",
    "waiting for completion": "Pods not completed yet",
}


def drain_delays(machine: Machine, now: datetime) -> list[str]:
    """Return what delays a drain that has lasted for more than five minutes."""
    condition = get(machine.status.conditions, ConditionType.DELETING)
    deletion = machine.status.deletion
    started = deletion.node_drain_start_time if deletion is not None else None
    if condition is None or condition.status != TRUE or condition.reason != Reason.DRAINING_NODE:
        return []
    if started is None or now - moment(started) <= LONG_DRAIN:
        return []
    return [delay for sign, delay in _DELAYS.items() if sign in condition.message]


def stale_machines(machines: Iterable[Machine], now: datetime) -> str:
    """Return the sentence about Machines in deletion for more than 15 minutes; "" if there
    is none.
    """
    stale = [
        machine
        for machine in machines
        if machine.metadata.deletion_timestamp is not None
        and now - moment(machine.metadata.deletion_timestamp) > LONG
    ]
    names = [machine.metadata.name for machine in stale]
    message = machines_are(names, "in deletion since more than 15m")
    delays = {delay for machine in stale for delay in drain_delays(machine, now)}
    if delays:
        result = [delay for delay in _DELAYS.values() if delay in delays]
        message += f", delay likely due to {', '.join(result)}"
    return message
