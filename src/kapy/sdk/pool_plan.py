"""Plan which machines of a pool are created and deleted (pure functions).

Missing machines are created first; outdated ones are deleted only as far as enough others are
ready. So an update first grows the pool.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Member(NamedTuple):
    """One machine of a pool that is not in deletion. ready: it is provisioned. current: it is up to
    date. delete_first: a user or autoscaler requested its deletion first. created: its creation
    time, as sortable text.
    """

    name: str
    ready: bool
    current: bool
    delete_first: bool = False
    created: str = ""


class Plan(NamedTuple):
    """missing: how many machines to create. surplus: the names of those to delete."""

    missing: int
    surplus: Sequence[str]


def plan(members: Sequence[Member], wanted: int) -> Plan:
    """Return the plan towards `wanted` up-to-date machines."""
    current = _by_deletion_order([one for one in members if one.current])
    outdated = _by_deletion_order([one for one in members if not one.current])
    gone = current[: max(0, len(current) - wanted)]
    ready = sum(one.ready for one in current[len(gone) :])
    # What is not ready serves nobody. Of the ready ones only so many as are not needed.
    gone += [one for one in outdated if not one.ready]
    serving = [one for one in outdated if one.ready]
    gone += serving[: max(0, ready + len(serving) - wanted)]
    return Plan(max(0, wanted - len(current)), [one.name for one in gone])


def _by_deletion_order(members: list[Member]) -> list[Member]:
    return sorted(members, key=lambda one: (not one.delete_first, one.ready, one.created, one.name))
