"""Faults are written as KIND@MANAGER:POINT, and drawn from a seed."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from kapy.testing.simulation.forking import in_rotation
from kapy.testing.simulation.guided import UNFENCED, random_faults
from kapy.testing.simulation.points import (
    FAULT_KINDS,
    BadFault,
    Fault,
    Point,
    PointKind,
    format_faults,
    parse_faults,
)

POINTS = {("core", "w"): 40, ("core", "e"): 90, ("infrastructure", "r"): 3, ("core", "k"): 5}


def test_faults_are_read_and_written() -> None:
    text = "crash-after@core:w12,stale@control-plane:e3"
    faults = parse_faults(text)
    assert faults == (
        Fault("crash-after", Point("core", "w", 12)),
        Fault("stale", Point("control-plane", "e", 3)),
    )
    assert format_faults(faults) == text
    assert parse_faults(" , ") == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("crash", "write KIND@MANAGER:POINT"),
        ("crash-after@core:w0", "write KIND@MANAGER:POINT"),
        ("explode@core:w1", "there is no fault 'explode'"),
        ("stale@core:w1", "stale does not happen at w1, only at points e"),
    ],
)
def test_a_wrong_fault_is_refused_with_the_way_out(text: str, message: str) -> None:
    with pytest.raises(BadFault, match=message):
        parse_faults(text)


def test_random_faults_are_those_of_their_seed() -> None:
    first = random_faults(7, 20, POINTS)
    assert first == random_faults(7, 20, dict(reversed(POINTS.items())))
    assert first != random_faults(8, 20, POINTS)
    assert len({fault.point for fault in first}) == 20
    for fault in first:
        assert PointKind(fault.point.letter) in FAULT_KINDS[fault.kind].points
        assert 1 <= fault.point.number <= POINTS[fault.point.manager, fault.point.letter]


@pytest.mark.parametrize("share", [1, 2, 3, 4, 6, 16])
def test_all_kinds_take_turns_at_one_point_in_so_many(share: int) -> None:
    kinds = ("crash-before", "crash-after", "lost-reply")
    selects = in_rotation(kinds, share)
    points = [Point("core", "w", number) for number in range(1, 12 * share + 1)]
    tried = [kind for point in points for kind in kinds if selects(point, kind)]
    assert len(tried) == 12
    assert {kind: tried.count(kind) for kind in kinds} == dict.fromkeys(kinds, 4)


@pytest.mark.parametrize("unfenced", [UNFENCED, ()])
def test_a_second_process_of_the_infrastructure_is_drawn_where_nothing_is_deleted(
    unfenced: Collection[tuple[str, str]],
) -> None:
    points = {("infrastructure", "w"): 400}
    faults = random_faults(0, 200, points, unfenced=unfenced)
    kinds = {fault.kind for fault in faults}
    assert ("second-leader" in kinds) == (not unfenced)
    assert "crash-after" in kinds


def test_there_are_never_more_faults_than_points() -> None:
    assert len(random_faults(0, 9, {("core", "r"): 2})) == 2
    assert random_faults(0, 9, {}) == ()
