"""A failing list of faults is reduced to those that matter."""

from __future__ import annotations

from collections.abc import Sequence

from kapy.testing.simulation.campaign import shrink
from kapy.testing.simulation.points import Fault, Point

FAULTS = tuple(Fault("broken", Point("core", "w", number)) for number in range(1, 21))


def test_one_fault_of_twenty_is_left() -> None:
    assert shrink(FAULTS, lambda faults: FAULTS[6] in faults) == (FAULTS[6],)


def test_two_faults_that_only_fail_together_are_left() -> None:
    tried: list[Sequence[Fault]] = []

    def fails(faults: Sequence[Fault]) -> bool:
        tried.append(faults)
        return {FAULTS[2], FAULTS[17]} <= set(faults)

    assert shrink(FAULTS, fails) == (FAULTS[2], FAULTS[17])
    assert () not in map(tuple, tried)
    assert len(tried) < 60


def test_a_single_fault_stays() -> None:
    assert shrink(FAULTS[:1], lambda _: True) == FAULTS[:1]
