"""The simulation of large fleets, and the page that prints it."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import published
from benchmarks.capacity import Figures, Fleet, render
from benchmarks.large_fleet import (
    FLEET,
    PAGE,
    SCENARIOS,
    SPLITS,
    name_of,
    read,
    rounded,
    tables,
    validation,
)
from benchmarks.management_clusters import (
    LEASE_S,
    Arrival,
    LargeFleet,
    ManagementCluster,
    Split,
    Work,
    assignment,
    at_once,
    creation,
    within,
)

FIGURES = Figures.read()
WORK = Work(rounds=3, cpu_s=0.3, server_s=0.1, event_mib=0.5)
NUMBERS = st.integers(1, 200)
SHARDS = st.integers(1, 6)


def _end(cluster: ManagementCluster, number: int, work: Work = WORK) -> float:
    return max(done for _, done in cluster.play(at_once(number, Random(1)), work))


def test_the_page_has_the_tables_of_the_stored_outcomes() -> None:
    page = PAGE.read_text()
    contents = tables(read(), FIGURES, published.read())
    assert render(page, contents) == page, "python -m benchmarks.large_fleet prints it anew"


def test_all_splits_and_scenarios_are_stored() -> None:
    stored = read()
    assert list(stored) == [name_of(split) for split in SPLITS]
    for result in stored.values():
        assert list(result["scenarios"]) == list(SCENARIOS)


@pytest.mark.parametrize("split", SPLITS[-2:], ids=name_of)
def test_the_stored_outcomes_are_those_of_the_simulation(split: Split) -> None:
    stored = read()[name_of(split)]
    fleet = LargeFleet(FLEET, split, FIGURES)
    assert stored["largest"] == fleet.largest()
    assert stored["memory_mib"] == round(fleet.memory_mib())
    for name in list(SCENARIOS)[-2:]:
        assert stored["scenarios"][name] == rounded(SCENARIOS[name](fleet)), name


@given(NUMBERS, SHARDS)
@settings(deadline=None)
def test_no_work_is_lost_and_none_is_done_twice(number: int, shards: int) -> None:
    cluster = ManagementCluster(assignment(0, number, shards), shards)
    changes = list(cluster.play(at_once(number, Random(1)), WORK))
    assert len(changes) == number
    reconciles = number * WORK.rounds
    assert cluster.servers.jobs == reconciles
    # Each shard decodes the events of all rounds, and reconciles those of its own clusters.
    assert sum(shard.jobs for shard in cluster.shards) == reconciles * (1 + shards)
    decoding = number * WORK.event_mib * 0.02 * shards
    busy = sum(shard.busy_s for shard in cluster.shards)
    assert busy == pytest.approx(number * WORK.cpu_s + decoding)


@given(NUMBERS, st.integers(1, 20))
@settings(deadline=None)
def test_at_most_so_many_clusters_change_at_a_time(number: int, at_a_time: int) -> None:
    cluster = ManagementCluster([0] * number, 1)
    changes = list(cluster.play(at_once(number, Random(1)), WORK, at_a_time=at_a_time))
    assert len(changes) == number
    marks = sorted([(at, 1) for at, _ in changes] + [(done, -1) for _, done in changes])
    level = highest = 0
    for _, step in marks:
        level += step
        highest = max(highest, level)
    assert highest <= at_a_time


def test_the_same_seed_gives_the_same_outcome_and_another_seed_another_one() -> None:
    def play(seed: int) -> object:
        fleet = LargeFleet(Fleet(500, workers=2), Split(3, 2), FIGURES, seed)
        return fleet.play(within(60), creation(fleet.fleet, FIGURES))

    assert play(1) == play(1)
    assert play(1) != play(2)


@pytest.mark.parametrize(("fewer", "more"), [(1, 2), (2, 4), (4, 8)])
def test_more_shards_are_never_slower(fewer: int, more: int) -> None:
    work = creation(Fleet(1, workers=9), FIGURES)
    ends = [
        _end(ManagementCluster(assignment(0, 2000, shards), shards), 2000, work)
        for shards in (fewer, more)
    ]
    assert ends[1] < ends[0]


def test_a_lost_shard_delays_its_clusters_until_its_lease_ends() -> None:
    cluster = ManagementCluster([0, 1], 2)
    cluster.lose(0, LEASE_S, restart_s=1.0)
    changes = cluster.play([Arrival(0.0, 0), Arrival(0.0, 1)], WORK)
    ends = sorted(done for _, done in changes)
    assert ends[0] < 1
    assert LEASE_S + 1 < ends[1] < LEASE_S + 2
    assert cluster.owners == [1, 1]


def test_a_fleet_of_more_management_clusters_needs_less_memory_in_each() -> None:
    small, large = (
        LargeFleet(Fleet(1000, workers=9), Split(count, 2), FIGURES) for count in (4, 2)
    )
    assert small.memory_mib() < large.memory_mib()
    assert small.limits()["etcd's quota"] < large.limits()["etcd's quota"]


def test_predictions_are_within_half_of_published_figures() -> None:
    compared = list(validation(FIGURES, published.read()))
    assert len(compared) >= 8
    assert {name: predicted / measured for name, predicted, measured in compared} == {
        name: pytest.approx(1, abs=0.5) for name, _, _ in compared
    }
