"""Machines whose deletion takes suspiciously long, and what may keep them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from kapy.api.machine import Machine
from kapy.api.names import ConditionType, Reason
from kapy.api.times import moment
from kapy.providers.kubeadm.controlplane.scope import listed
from kapy.sdk import conditions

_LONG: Final = timedelta(minutes=15)
_LONG_DRAIN: Final = timedelta(minutes=5)
_HINTS: Final = {
    "cannot evict pod as it would violate the pod's disruption budget.": "PodDisruptionBudgets",
    "deletionTimestamp set, but still not removed from the Node": "Pods not terminating",
    "failed to evict Pod": "Pod eviction errors",
    "waiting for completion": "Pods not completed yet",
}


def stale_machines(machines: Sequence[Machine], now: datetime) -> str:
    """One sentence about them, "" when there are none."""
    stale = [one for one in machines if _deleting_for(one, now) > _LONG]
    if not stale:
        return ""
    noun, verb = ("Machine", "is") if len(stale) == 1 else ("Machines", "are")
    names = listed(one.metadata.name for one in stale)
    sentence = f"{noun} {names} {verb} in deletion since more than 15m"
    hints = {hint for machine in stale for hint in _hints(machine, now)}
    if hints:
        ordered = [hint for hint in _HINTS.values() if hint in hints]
        sentence += f", delay likely due to {', '.join(ordered)}"
    return sentence


def _deleting_for(machine: Machine, now: datetime) -> timedelta:
    since = machine.metadata.deletion_timestamp
    return now - moment(since) if since is not None else timedelta(0)


def _hints(machine: Machine, now: datetime) -> list[str]:
    condition = conditions.get(machine.status.conditions, ConditionType.DELETING)
    if condition is None or condition.status != conditions.TRUE:
        return []
    deletion = machine.status.deletion
    started = deletion.node_drain_start_time if deletion is not None else None
    if condition.reason != Reason.DRAINING_NODE or started is None:
        return []
    if now - moment(started) <= _LONG_DRAIN:
        return []
    return [hint for words, hint in _HINTS.items() if words in condition.message]
