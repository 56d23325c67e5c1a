"""Reconciles that wait for a server of somebody else's take no worker's place."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import pairwise
from random import Random

import pytest

from kapy._aio.clock import loop_clock
from kapy.engine.controller import Controller
from kapy.engine.result import DONE, Result
from kapy.engine.runtime import Runtime
from kapy.engine.worker_slots import BEGUN_IN_A_TURN, MAX_YIELDED, TurnLimit, yield_slot
from kapy.kube import Key
from tests.engine.fake_server import FakeServer

WAITERS = [Key("waits", str(number)) for number in range(20)]
OTHERS = [Key("works", str(number)) for number in range(20)]


class Work:
    """A controller with two workers. It records when each key ended, and how many were active."""

    def __init__(self, after: float, seconds: float) -> None:
        self.after, self.seconds = after, seconds
        self.ended: dict[Key, float] = {}
        self.active = self.most_active = self.waiting = 0
        self.controller = Controller("work", self.reconcile, concurrency=2)

    async def reconcile(self, key: Key) -> Result:
        if key.namespace == "waits":
            self.waiting += 1
            with yield_slot(after=self.after):
                await asyncio.gather(*(asyncio.sleep(self.seconds) for _ in range(2)))
            self.waiting -= 1
        else:
            self.active += 1
            self.most_active = max(self.most_active, self.active)
            await asyncio.sleep(0.1)
            self.active -= 1
        self.ended[key] = asyncio.get_running_loop().time()
        return DONE

    async def run(self, keys: list[Key], seconds: float, then: Callable[[], None]) -> None:
        for key in keys:
            self.controller.enqueue(key)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self.controller.run())
            await asyncio.sleep(seconds)
            then()
            task.cancel()

    def last(self, keys: list[Key]) -> float:
        return max(self.ended[key] for key in keys)


@pytest.mark.parametrize(
    ("after", "others_end", "waiters_end"),
    [
        (0.0, 1.0, 5.0),  # nobody holds a place, all wait together
        (0.5, 6.0, 9.5),  # each holds one for half a second, two at a time
        (100.0, 51.0, 50.0),  # each holds it to the end
    ],
)
async def test_a_waiting_worker_yields_its_slot(
    after: float, others_end: float, waiters_end: float
) -> None:
    work, began = Work(after, 5.0), asyncio.get_running_loop().time()
    await work.run(WAITERS + OTHERS, 60, lambda: None)
    assert work.last(OTHERS) - began == pytest.approx(others_end, abs=0.2)
    assert work.last(WAITERS) - began == pytest.approx(waiters_end, abs=0.2)
    assert work.most_active == 2


async def test_returning_workers_do_not_exceed_the_limit() -> None:
    work = Work(0.0, 0.05)
    await work.run(WAITERS + OTHERS, 10, lambda: None)
    work.most_active = 0
    await work.run(OTHERS, 10, lambda: None)
    assert work.most_active == 2


async def test_the_number_of_yielding_workers_is_bounded() -> None:
    work = Work(0.0, 5.0)
    many = [Key("waits", str(number)) for number in range(2 * MAX_YIELDED)]
    counts: list[int] = []
    await work.run(many, 1, lambda: counts.append(work.waiting))
    assert counts == [MAX_YIELDED + 2]


async def test_a_yield_outside_of_a_worker_changes_nothing() -> None:
    with yield_slot(), yield_slot(after=1.0):
        await asyncio.sleep(2)


async def test_few_reconciles_begin_in_one_turn_of_the_event_loop() -> None:
    limit, begun = TurnLimit(3), 0

    async def work() -> None:
        nonlocal begun
        for _ in range(5):
            await limit.wait()
            begun += 1
            await asyncio.sleep(0)

    counts = [0]
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(work()) for _ in range(20)]
        while not all(task.done() for task in tasks):
            await asyncio.sleep(0)
            counts.append(begun)
    turns = [later - earlier for earlier, later in pairwise(counts)]
    assert max(turns) == 3
    assert sum(turns) == 100
    assert len(turns) < 40


async def test_a_cancelled_worker_takes_no_turn() -> None:
    limit, begun = TurnLimit(1), []

    async def work(name: str) -> None:
        await limit.wait()
        begun.append(name)

    async with asyncio.TaskGroup() as group:
        tasks = {name: group.create_task(work(name)) for name in "abc"}
        await asyncio.sleep(0)
        tasks["b"].cancel()
    assert begun == ["a", "c"]


async def test_the_controllers_of_a_program_share_the_limit_of_a_turn() -> None:
    begun = 0

    async def reconcile(key: Key) -> Result:
        nonlocal begun
        begun += 1
        return DONE

    runtime = Runtime.on(FakeServer(), clock=loop_clock(), random=Random(1))
    keys = [Key("default", str(number)) for number in range(100)]
    for name in ("first", "second", "third"):
        controller = runtime.add(Controller(name, reconcile, concurrency=50))
        for key in keys:
            controller.enqueue(key)
    counts = [0]
    async with asyncio.TaskGroup() as group:
        task = group.create_task(runtime.run())
        while begun < 300:
            await asyncio.sleep(0)
            counts.append(begun)
        task.cancel()
    assert max(later - earlier for earlier, later in pairwise(counts)) == BEGUN_IN_A_TURN
