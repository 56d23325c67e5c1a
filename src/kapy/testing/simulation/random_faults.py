"""Faults drawn from a seed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from random import Random
from typing import Final

from kapy.testing.simulation.points import FAULT_KINDS, Fault, Point, PointKind

UNFENCED: Final = frozenset(
    {
        ("second-leader", "infrastructure"),
        ("second-leader", "provider"),
        ("cloud-late", "provider"),
    }
)
"""Faults of managers that are drawn only where no machine is deleted. Two processes without an
election work with a cloud: one may create there what the other has just deleted. No provider can
prevent that: it is told of the deletion too late. Nor may it delete later what it has created for
an object that is gone, since a move takes objects away whose machines stay. A creation that a cloud
carries out a minute later is the same."""


def random_faults(
    seed: int,
    count: int,
    points: Mapping[tuple[str, str], int],
    *,
    without: Collection[str] = (),
    unfenced: Collection[tuple[str, str]] = UNFENCED,
) -> tuple[Fault, ...]:
    """Return as many faults as wanted, each at another point.

    points: how many points the undisturbed run has, by manager and letter. without: kinds that are
    not drawn. unfenced: kinds that are not drawn for a manager. Each other kind of fault is as
    likely as any other.
    """
    random = Random(f"{seed}/faults")
    places = {
        kind: [
            (manager, letter)
            for manager, letter in sorted(points)
            if PointKind(letter) in FAULT_KINDS[kind].points and (kind, manager) not in unfenced
        ]
        for kind in sorted(FAULT_KINDS.keys() - set(without))
    }
    possible = [kind for kind, kind_places in places.items() if kind_places]
    faults: dict[Point, Fault] = {}
    total = sum(points.values())
    while possible and len(faults) < min(count, total):
        kind = random.choice(possible)
        manager, letter = random.choice(places[kind])
        point = Point(manager, letter, random.randint(1, points[manager, letter]))
        faults.setdefault(point, Fault(kind, point))
    return tuple(faults.values())
