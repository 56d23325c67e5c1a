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
    """The changes of a pool. missing: the number of machines to create. surplus: the names of those
    to delete."""

    missing: int
    surplus: Sequence[str]


def plan(members: Sequence[Member], wanted: int) -> Plan:
    """Return the plan towards `wanted` up-to-date machines."""
    current = _by_deletion_order([member for member in members if member.current])
    outdated = _by_deletion_order([member for member in members if not member.current])
    removal = current[: max(0, len(current) - wanted)]
    ready = sum(member.ready for member in current[len(removal) :])
    # All outdated members that are not ready are deleted, since they serve nothing. Ready ones are
    # deleted only if they are not needed.
    removal += [member for member in outdated if not member.ready]
    serving = [member for member in outdated if member.ready]
    removal += serving[: max(0, ready + len(serving) - wanted)]
    return Plan(max(0, wanted - len(current)), [member.name for member in removal])


def _by_deletion_order(members: list[Member]) -> list[Member]:
    return sorted(
        members,
        key=lambda member: (not member.delete_first, member.ready, member.created, member.name),
    )
