"""Work that takes too long for a reconcile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kapy.kube import Key
from kapy.kube.errors import KapyError
from kapy.providers.docker.tasks import Operation, Task, Tasks
from kapy.sdk import NotYet

OWNER = ("DevMachine", Key("default", "a"), "uid-a")


@asynccontextmanager
async def working(tasks: Tasks) -> AsyncIterator[list[Key]]:
    """Run tasks, and give the list of the keys that they wake."""
    woken: list[Key] = []
    tasks.wake = lambda kind, key: woken.append(key)
    async with asyncio.TaskGroup() as group:
        service = group.create_task(tasks.run())
        await asyncio.sleep(0)
        yield woken
        service.cancel()


async def _sleep(_: Task) -> None:
    await asyncio.sleep(10)


async def _fail(_: Task) -> None:
    raise KapyError("no")


async def test_operations_run_in_order_and_wake_their_machine() -> None:
    tasks = Tasks()
    async with working(tasks) as woken:
        task = tasks.start(OWNER, "t", [Operation("one", _sleep), Operation("two", _sleep)], 60)
        await asyncio.sleep(1)
        assert (str(task), task.is_running) == ("one (1 of 2)", True)
        await asyncio.sleep(10)
        assert str(task) == "two (2 of 2)"
        await asyncio.sleep(10)
        assert task.is_done
        assert tasks.get("uid-a", "t") is task
        assert set(woken) == {OWNER[1]}
        assert len(woken) == 3


async def test_endless_progress_is_reported_once_a_second() -> None:
    tasks = Tasks()

    async def chat(task: Task) -> None:
        for number in range(1_000):
            task.tell(f"layer {number}")
            await asyncio.sleep(0.01)

    async with working(tasks) as woken:
        many = [Operation(f"operation {number}", chat) for number in range(3)]
        task = tasks.start(OWNER, "t", many, 60)
        texts = set()
        while task.is_running:
            texts.add(str(task))
            await asyncio.sleep(0.005)
        assert 25 < len(texts) <= 32
        assert len(woken) <= len(texts) + 1
        assert task.description == "layer 999"
        await asyncio.sleep(10)
        assert len(woken) <= len(texts) + 1


async def test_the_last_words_of_a_task_are_reported_with_its_end() -> None:
    tasks = Tasks()

    async def fail(task: Task) -> None:
        task.tell("the reason is near")
        raise KapyError("no")

    async with working(tasks):
        task = tasks.start(OWNER, "t", [Operation("one", fail)], 60)
        await asyncio.sleep(0.1)
        assert (str(task), task.number) == ("the reason is near failed: no", 1)


async def test_a_failure_or_a_deadline_ends_a_task() -> None:
    tasks = Tasks()
    async with working(tasks) as woken:
        failed = tasks.start(OWNER, "f", [Operation("first", _fail), Operation("b", _sleep)], 60)
        late = tasks.start(OWNER, "l", [Operation("late", _sleep)], 5)
        await asyncio.sleep(6)
        assert (str(failed), failed.is_running) == ("first failed: no", False)
        assert str(late) == "late failed: it did not end within 5 s"
        assert len(woken) == 4


async def test_tasks_of_a_deleted_machine_end() -> None:
    tasks, ended = Tasks(), False

    async def go_on(_: Task) -> None:
        nonlocal ended
        await asyncio.sleep(10)
        ended = True

    async with working(tasks) as woken:
        tasks.start(OWNER, "t", [Operation("one", go_on)], 60)
        tasks.start(("DevMachine", Key("default", "b"), "uid-b"), "t", [Operation("x", _sleep)], 60)
        await asyncio.sleep(1)
        tasks.cancel("uid-a")
        assert tasks.get("uid-a", "t") is None
        assert tasks.get("uid-b", "t") is not None
        woken.clear()
        await asyncio.sleep(60)
        assert not ended
        assert woken == [Key("default", "b")]


async def test_a_stopping_program_begins_no_task() -> None:
    with pytest.raises(NotYet):
        Tasks().start(OWNER, "t", [], 1)
