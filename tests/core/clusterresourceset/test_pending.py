"""The Clusters that a ClusterResourceSet looks at in its next reconcile."""

from __future__ import annotations

import pytest

from kapy.core.clusterresourceset.pending import PendingClusters
from kapy.kube import Key

SET = Key("default", "set")
A, B, C = (Key("default", name) for name in "abc")


@pytest.fixture
def pending() -> PendingClusters[str]:
    """The Clusters of a set that has looked at all of them: `a` waits, `b` is tried again."""
    clusters = PendingClusters[str]()
    assert clusters.take(SET) is None
    settled = clusters.settle(SET, looked_at=True, again=[B], waiting={A: "a waits"})
    assert settled == ["a waits"]
    clusters.end(SET)
    return clusters


def settle(pending: PendingClusters[str]) -> list[str] | None:
    return pending.settle(SET, looked_at=False, again=(), waiting={})


def test_only_changed_clusters_and_failed_ones_are_looked_at(pending: PendingClusters[str]) -> None:
    pending.add(SET, C)
    assert pending.take(SET) == {B, C}
    assert settle(pending) == ["a waits"]
    pending.end(SET)
    assert pending.take(SET) == set()


def test_a_waiting_cluster_is_looked_at_after_its_event(pending: PendingClusters[str]) -> None:
    pending.add(SET, A)
    assert pending.take(SET) == {A, B}
    assert settle(pending) == []


def test_a_change_during_the_reconcile_is_looked_at_in_the_next(
    pending: PendingClusters[str],
) -> None:
    pending.take(SET)
    pending.add(SET, A)
    assert pending.settle(SET, looked_at=True, again=(), waiting={A: "still"}) == []
    pending.end(SET)
    assert pending.take(SET) == {A}


def test_all_are_looked_at_after_an_interruption(pending: PendingClusters[str]) -> None:
    pending.take(SET)
    pending.end(SET)
    assert pending.take(SET) is None


@pytest.mark.parametrize("meanwhile", [False, True])
def test_all_are_looked_at_after_a_change_of_the_set(
    pending: PendingClusters[str], *, meanwhile: bool
) -> None:
    if meanwhile:
        pending.take(SET)
    pending.add_all(SET)
    if meanwhile:
        assert pending.settle(SET, looked_at=True, again=(), waiting={A: "waits"}) == ["waits"]
        pending.end(SET)
    assert pending.take(SET) is None


def test_a_deleted_cluster_is_forgotten(pending: PendingClusters[str]) -> None:
    pending.drop(A)
    pending.drop(B)
    assert pending.take(SET) == set()
    assert settle(pending) == []


def test_a_set_without_clusters_reports_nothing() -> None:
    pending = PendingClusters[str]()
    pending.take(SET)
    assert settle(pending) is None
