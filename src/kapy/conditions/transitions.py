"""The next time at which aggregated conditions change although no Machine changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from kapy.api.machine import Machine
from kapy.api.names import ConditionType
from kapy.api.times import moment
from kapy.conditions.lookup import has
from kapy.conditions.machines import YOUNG
from kapy.conditions.stale import LONG
from kapy.engine.result import DONE, Result, requeue


def next_transition(machines: Iterable[Machine], now: datetime) -> Result:
    """Return a timer for the next transition: there is no event when a Machine is no longer new, or
    when its deletion takes long.
    """
    due = [time for machine in machines for time in _moments(machine) if time >= now]
    if not due:
        return DONE
    # One second later, since the state changes after that moment, and times are whole seconds.
    remaining = min(due) - now + timedelta(seconds=1)
    return requeue(after=remaining, because="the report about new and deleted Machines changes")


def _moments(machine: Machine) -> Iterator[datetime]:
    metadata = machine.metadata
    if metadata.deletion_timestamp is not None:
        yield moment(metadata.deletion_timestamp) + LONG
    if metadata.creation_timestamp is not None and not has(
        machine.status.conditions, ConditionType.UP_TO_DATE
    ):
        yield moment(metadata.creation_timestamp) + YOUNG
