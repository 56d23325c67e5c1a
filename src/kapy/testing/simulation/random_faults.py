"""Faults drawn from a seed."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from kapy.testing.simulation.points import FAULT_KINDS, Fault, Point, PointKind


def random_faults(
    seed: int, count: int, points: Mapping[tuple[str, str], int]
) -> tuple[Fault, ...]:
    """Return as many faults as wanted, each at another point.

    points: how many points the undisturbed run has, by manager and letter. Each kind of fault is as
    likely as any other.
    """
    random = Random(f"{seed}/faults")
    places = {
        kind: [
            (manager, letter)
            for manager, letter in sorted(points)
            if PointKind(letter) in FAULT_KINDS[kind].points
        ]
        for kind in sorted(FAULT_KINDS)
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
