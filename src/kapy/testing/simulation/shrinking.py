"""Reduces a failing list of faults to the few that matter."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kapy.testing.simulation.points import Fault

Fails = Callable[[Sequence[Fault]], bool]


def shrink(faults: Sequence[Fault], fails: Fails) -> tuple[Fault, ...]:
    """Return a part of the faults that still fails, and of which none can be left out.

    fails: runs the scenario with some faults. It is the algorithm of delta debugging.
    """
    remaining, parts = list(faults), 2
    while len(remaining) > 1:
        size = max(1, len(remaining) // parts)
        for start in range(0, len(remaining), size):
            fewer = remaining[:start] + remaining[start + size :]
            if fewer and fails(fewer):
                remaining, parts = fewer, max(2, parts - 1)
                break
        else:
            if size == 1:
                break
            parts = min(len(remaining), parts * 2)
    return tuple(remaining)
