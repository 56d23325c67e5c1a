"""A handler that does not answer is left alone; those who wait for it are woken, one after the
other."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import pairwise
from random import Random

import pytest

from kapy.hooks.breaker import (
    FAILURE_THRESHOLD,
    LONGEST,
    RETRY_GRACE,
    WAKE_INTERVAL,
    CircuitBreaker,
    CircuitOpen,
)


class Herd:
    """A circuit breaker that records the keys that it wakes, with the time of each."""

    def __init__(self) -> None:
        self.woken: list[tuple[float, str]] = []
        self.breaker: CircuitBreaker[str] = CircuitBreaker(self._woken, Random(1))

    def _woken(self, key: str) -> None:
        self.woken.append((asyncio.get_running_loop().time(), key))

    def fails(self, key: str) -> None:
        self.breaker.admit(key)
        self.breaker.record_failure(key, "gone")

    def is_refused(self, key: str) -> bool:
        try:
            self.breaker.admit(key)
        except CircuitOpen:
            return True
        return False


@pytest.fixture
def herd() -> Iterator[Herd]:
    result = Herd()
    yield result
    result.breaker.close()


async def test_a_few_failures_do_not_open_the_breaker(herd: Herd) -> None:
    for _ in range(FAILURE_THRESHOLD - 1):
        herd.fails("a")
    herd.breaker.admit("b")
    herd.breaker.record_answer()
    for _ in range(FAILURE_THRESHOLD - 1):
        herd.fails("a")
    assert not herd.is_refused("b")


async def test_one_trial_call_closes_the_breaker_for_all(herd: Herd) -> None:
    for _ in range(FAILURE_THRESHOLD):
        herd.fails("a")
    assert all(herd.is_refused(key) for key in ("b", "c", "d"))
    await asyncio.sleep(1)
    assert [key for _, key in herd.woken] == ["a"]
    herd.breaker.admit("a")
    assert herd.is_refused("b")  # while somebody tries
    herd.breaker.record_answer()
    await asyncio.sleep(1)
    followed = herd.woken[1:]
    assert [key for _, key in followed] == ["b", "c", "d"]
    times = [at for at, _ in followed]
    assert all(later - before >= WAKE_INTERVAL * 0.99 for before, later in pairwise(times))


async def test_a_call_waits_no_longer_than_stated(herd: Herd) -> None:
    for _ in range(FAILURE_THRESHOLD):
        herd.fails("a")
    for _ in range(12):
        before = len(herd.woken)
        await asyncio.sleep(LONGEST)
        assert len(herd.woken) > before
        herd.fails("a")


async def test_abandoned_calls_delay_nobody(herd: Herd) -> None:
    """A hundred Clusters wait, and ninety-nine of them are deleted meanwhile."""
    for _ in range(FAILURE_THRESHOLD):
        herd.fails("0")
    assert all(herd.is_refused(f"{number}") for number in range(1, 100))
    await asyncio.sleep(10)
    assert [key for _, key in herd.woken] == [f"{number}" for number in range(100)]
    herd.fails("99")
    await asyncio.sleep(2)
    assert herd.woken[100:] == [(herd.woken[-1][0], "99")]


async def test_one_trial_call_runs_at_a_time(herd: Herd) -> None:
    for _ in range(FAILURE_THRESHOLD):
        herd.fails("a")
    assert herd.is_refused("b")
    await asyncio.sleep(1)
    herd.breaker.admit("a")
    await asyncio.sleep(LONGEST)
    assert [key for _, key in herd.woken] == ["a"]
    herd.breaker.record_abort()
    await asyncio.sleep(RETRY_GRACE)
    assert [key for _, key in herd.woken] == ["a", "b"]


async def test_calls_that_ran_when_the_breaker_opened_do_not_count(herd: Herd) -> None:
    for _ in range(10):
        herd.breaker.admit("a")
    for number in range(10):
        herd.breaker.record_failure(f"{number}", "gone")
    await asyncio.sleep(1)
    assert len(herd.woken) == 1
