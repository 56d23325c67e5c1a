"""The cache of control planes in a steady state: entries expire, and changes remove them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from kapy.kube import Key
from kapy.sdk.machine_control_plane import SteadyStateCache

KEY, OTHER = Key("ns", "cp"), Key("ns", "other")
MINUTE = timedelta(minutes=1)
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_state_holds_until_it_expires() -> None:
    states = SteadyStateCache[str]()
    states.store(KEY, states.count(KEY), "state", NOW + 2 * MINUTE)
    assert states.get(KEY, NOW + MINUTE) == "state"
    assert states.get(KEY, NOW + 2 * MINUTE) is None
    assert states.get(OTHER, NOW) is None


def test_a_change_of_the_control_plane_ends_the_state() -> None:
    states = SteadyStateCache[str]()
    states.store(KEY, states.count(KEY), "state", NOW + MINUTE)
    assert states.increment([OTHER]) == (OTHER,)
    assert states.get(KEY, NOW) == "state"
    assert states.increment([KEY]) == (KEY,)
    assert states.get(KEY, NOW) is None


def test_a_change_during_the_reconcile_counts() -> None:
    states = SteadyStateCache[str]()
    count = states.count(KEY)
    states.increment([KEY])
    states.store(KEY, count, "state", NOW + MINUTE)
    assert states.get(KEY, NOW) is None


def test_a_deleted_control_plane_is_forgotten() -> None:
    states = SteadyStateCache[str]()
    states.store(KEY, states.count(KEY), "state", NOW + MINUTE)
    states.forget(KEY)
    assert states.get(KEY, NOW) is None
