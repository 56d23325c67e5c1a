"""The order in which a MachineSet deletes Machines (`spec.deletion.order`; pure functions)."""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from datetime import datetime

from kapy.api.machine import Machine
from kapy.api.machines import is_updating_in_place
from kapy.api.names import Annotation, ConditionType
from kapy.api.times import moment
from kapy.conditions.lookup import is_false
from kapy.kube.errors import KapyError

DELETING = 100.0
DELETION_REQUESTED = 80.0
UPDATING = 75.0
UNHEALTHY = 50.0
ANY = 20.0
DELETED_LAST = 0.0

TEN_DAYS = 864000.0  # seconds


class UnknownOrder(KapyError):
    """`spec.deletion.order` is none of Random, Newest and Oldest."""


def deletion_order(
    machines: Sequence[Machine], order: str, now: datetime, *, healthy: Container[int] = ()
) -> list[Machine]:
    """Return the Machines in the order of their deletion; names break ties. order: Random (also
    ""), Newest or Oldest. healthy: the `id`s of Machines that are known to be healthy, and neither
    deleted nor updated. Raises UnknownOrder.
    """
    if order not in ("", "Random", "Newest", "Oldest"):
        raise UnknownOrder(
            f"Unsupported deletion order {order}. Must be one of 'Random', 'Newest', or 'Oldest'"
        )

    def rank(machine: Machine) -> tuple[float, str]:
        if id(machine) in healthy and Annotation.DELETE_MACHINE not in machine.metadata.annotations:
            return -_priority_by_age(machine, order, now), machine.metadata.name
        return -priority(machine, order, now), machine.metadata.name

    return sorted(machines, key=rank)


def priority(machine: Machine, order: str, now: datetime) -> float:
    """Return a priority from 0 (never) to 100 (first): Machines in deletion come first, or more
    would be deleted while they go; then those that a user marked, those that are being updated (so
    that no update completes in vain), and the unhealthy ones.
    """
    if machine.deleting:
        return DELETING
    if Annotation.DELETE_MACHINE in machine.metadata.annotations:
        return DELETION_REQUESTED
    if is_updating_in_place(machine):
        return UPDATING
    return _priority_by_age(machine, order, now) if is_healthy(machine) else UNHEALTHY


def _priority_by_age(machine: Machine, order: str, now: datetime) -> float:
    if order == "Oldest":
        return _age_rank(machine, now)
    if order == "Newest":
        return UNHEALTHY - _age_rank(machine, now)
    return ANY


def is_healthy(machine: Machine) -> bool:
    """Return whether no condition is bad; unknown ones do not count as bad."""
    return machine.status.node_ref is not None and not (
        is_false(machine.status.conditions, ConditionType.NODE_HEALTHY)
        or is_false(machine.status.conditions, ConditionType.HEALTH_CHECK_SUCCEEDED)
    )


def _age_rank(machine: Machine, now: datetime) -> float:
    """Map the age to 0 … 50, growing more and more slowly."""
    if machine.metadata.creation_timestamp is None:
        return DELETED_LAST
    age = (now - moment(machine.metadata.creation_timestamp)).total_seconds()
    return DELETED_LAST if age < 0 else UNHEALTHY * (1.0 - math.exp(-age / TEN_DAYS))
