"""Which machines of a pool are made and which go. Pure.

Machines are made for all that is wanted and is not there as it should be; what is outdated goes
only as far as enough others are ready. So an update first grows the pool.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Member(NamedTuple):
    """One machine of a pool that nobody has begun to delete.

    ready: it is there. current: it is as machines should be now. asked_for: somebody (an
    autoscaler) wants this one to go first. made: when, as text that sorts.
    """

    name: str
    ready: bool
    current: bool
    asked_for: bool = False
    made: str = ""


class Plan(NamedTuple):
    """missing: how many machines to make. surplus: the names of those to delete."""

    missing: int
    surplus: Sequence[str]


def plan(members: Sequence[Member], wanted: int) -> Plan:
    """What to do so that there are `wanted` machines as they should be, and no others."""
    current = _first_to_go([one for one in members if one.current])
    outdated = _first_to_go([one for one in members if not one.current])
    gone = current[: max(0, len(current) - wanted)]
    ready = sum(one.ready for one in current[len(gone) :])
    # What is not ready serves nobody. Of the ready ones only so many as are not needed.
    gone += [one for one in outdated if not one.ready]
    serving = [one for one in outdated if one.ready]
    gone += serving[: max(0, ready + len(serving) - wanted)]
    return Plan(max(0, wanted - len(current)), [one.name for one in gone])


def _first_to_go(members: list[Member]) -> list[Member]:
    return sorted(members, key=lambda one: (not one.asked_for, one.ready, one.made, one.name))
