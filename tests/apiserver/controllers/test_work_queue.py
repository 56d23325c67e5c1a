"""The queue of the API server's controllers."""

from __future__ import annotations

import asyncio

from kapy._aio.cooperation import STEPS_PER_TURN
from kapy.apiserver.controllers.work_queue import ObjectKey, WorkQueue


def key(number: int) -> ObjectKey:
    return ObjectKey("configmaps", "default", str(number))


async def test_keys_come_in_order_of_arrival_and_once() -> None:
    queue = WorkQueue()
    for number in (3, 1, 3, 2):
        queue.add(key(number))
    assert [await queue.get() for _ in range(3)] == [key(3), key(1), key(2)]


async def test_other_tasks_run_while_there_are_always_keys() -> None:
    queue, taken, most = WorkQueue(), 0, 0
    for number in range(1000):
        queue.add(key(number))

    async def take_all() -> None:
        nonlocal taken
        for _ in range(1000):
            await queue.get()
            taken += 1

    async with asyncio.TaskGroup() as group:
        task = group.create_task(take_all())
        while not task.done():
            before = taken
            await asyncio.sleep(0)
            most = max(most, taken - before)
    assert most == STEPS_PER_TURN
