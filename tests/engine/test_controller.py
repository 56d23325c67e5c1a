"""The order, concurrency and retries of a controller's work queue, on virtual time."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from itertools import pairwise
from random import Random

import pytest

from kapy.client.client import Client
from kapy.engine.cache import Cache
from kapy.engine.controller import Controller, Reconcile
from kapy.engine.queue import INITIAL
from kapy.engine.reconcile_log import CURRENT, ReconcileContext, fields_of, set_object
from kapy.engine.result import DONE, NotYet, Result, requeue
from kapy.kube import Key
from kapy.kube.errors import Conflict, TooManyRequests
from tests.engine.fake_server import WIDGETS, FakeServer, widget

RECORD = logging.LogRecord("kapy", logging.INFO, "file", 1, "text", (), None)
A, B, C = Key("default", "a"), Key("default", "b"), Key("default", "c")


class Work:
    """A reconciler that notes when it was asked for what, and answers as told."""

    def __init__(self) -> None:
        self.done: list[tuple[float, Key]] = []
        self.answers: list[Result | Exception] = []
        self.takes = 0.0
        self.at_once = Counter[Key]()
        self.most = 0

    async def __call__(self, key: Key) -> Result:
        self.done.append((asyncio.get_running_loop().time(), key))
        self.at_once[key] += 1
        assert self.at_once[key] == 1
        self.most = max(self.most, self.at_once.total())
        try:
            if self.takes:
                await asyncio.sleep(self.takes)
            answer = self.answers.pop(0) if self.answers else DONE
        finally:
            self.at_once[key] -= 1
        if isinstance(answer, Exception):
            raise answer
        return answer

    @property
    def keys(self) -> str:
        return "".join(key.name for _, key in self.done)


@asynccontextmanager
async def running(reconcile: Reconcile, *, concurrency: int = 1) -> AsyncIterator[Controller]:
    controller = Controller("widgets", reconcile, concurrency=concurrency)
    controller.random = Random(1)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(controller.run())
        await asyncio.sleep(0)
        yield controller
        task.cancel()


async def test_keys_are_served_by_priority_then_by_age() -> None:
    work = Work()
    controller = Controller("widgets", work, concurrency=1)
    for key, priority in [(A, INITIAL), (B, INITIAL), (C, 0)]:
        controller.enqueue(key, priority=priority)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(controller.run())
        await asyncio.sleep(1)
        task.cancel()
    assert work.keys == "cab"


async def test_a_key_is_queued_once_and_moves_forward_when_it_becomes_urgent() -> None:
    work = Work()
    controller = Controller("widgets", work, concurrency=1)
    for key, priority in [(A, INITIAL), (B, INITIAL), (B, 0), (B, INITIAL), (A, INITIAL)]:
        controller.enqueue(key, priority=priority)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(controller.run())
        await asyncio.sleep(1)
        task.cancel()
    assert work.keys == "ba"


async def test_a_key_added_during_its_reconcile_is_requeued_once() -> None:
    work = Work()
    work.takes = 5
    async with running(work, concurrency=3) as controller:
        controller.enqueue(A)
        await asyncio.sleep(1)
        controller.enqueue(A)
        controller.enqueue(A)
        controller.enqueue(B)
        await asyncio.sleep(20)
    assert [(round(at), key.name) for at, key in work.done] == [(0, "a"), (1, "b"), (5, "a")]


async def test_reconciles_respect_the_concurrency_limit() -> None:
    work = Work()
    work.takes = 1
    async with running(work, concurrency=3) as controller:
        for number in range(10):
            controller.enqueue(Key("default", str(number)))
        await asyncio.sleep(20)
    assert work.most == 3
    assert len(work.done) == 10


async def test_a_result_with_after_is_requeued_with_its_reason() -> None:
    work = Work()
    work.answers = [requeue(after=timedelta(seconds=10), because="the drain takes its time")]
    async with running(work) as controller:
        assert controller.wait_reason(A) is None
        controller.enqueue(A)
        await asyncio.sleep(4)
        assert controller.wait_reason(A) == "requeue in 6s: the drain takes its time"
        await asyncio.sleep(20)
        assert controller.wait_reason(A) is None
    assert [round(at) for at, _ in work.done] == [0, 10]


async def test_a_change_wins_over_a_timer() -> None:
    work = Work()
    work.answers = [requeue(after=timedelta(seconds=10), because="so it is"), DONE]
    async with running(work) as controller:
        controller.enqueue(A)
        await asyncio.sleep(4)
        controller.enqueue(A)
        await asyncio.sleep(20)
    assert [round(at) for at, _ in work.done] == [0, 4]


async def test_a_change_during_the_reconcile_wins_over_its_result() -> None:
    work = Work()
    work.takes = 1
    work.answers = [requeue(after=timedelta(seconds=10), because="so it is"), DONE]
    async with running(work) as controller:
        controller.enqueue(A)
        await asyncio.sleep(0.5)
        controller.enqueue(A)
        await asyncio.sleep(30)
    assert [round(at) for at, _ in work.done] == [0, 1]


async def test_errors_back_off_exponentially_until_a_success() -> None:
    work = Work()
    work.answers = [ValueError("no")] * 12
    async with running(work) as controller:
        controller.enqueue(A)
        await asyncio.sleep(30)
        times = [at for at, _ in work.done]
        assert len(times) == 13
        gaps = [later - earlier for earlier, later in pairwise(times)]
        for number, gap in enumerate(gaps):
            assert 0.75 * 0.005 * 2**number <= gap <= 1.25 * 0.005 * 2**number
        work.answers = [ValueError("again")]
        controller.enqueue(A)
        began = asyncio.get_running_loop().time()
        await asyncio.sleep(1)
        assert work.done[-1][0] - began < 0.01


async def test_the_longest_back_off_is_a_quarter_of_an_hour_or_so() -> None:
    work = Work()
    work.answers = [ValueError("no")] * 1000
    async with running(work) as controller:
        controller.enqueue(A)
        await asyncio.sleep(20_000)
        before = len(work.done)
        await asyncio.sleep(100_000)
        assert 75 <= len(work.done) - before <= 140


async def test_back_off_waits_as_long_as_the_server_asks() -> None:
    work = Work()
    work.answers = [TooManyRequests("wait", retry_after=50.0)]
    async with running(work) as controller:
        controller.enqueue(A)
        await asyncio.sleep(1)
        waiting = controller.wait_reason(A)
        assert waiting is not None
        assert waiting.startswith("retry in 49s: TooManyRequests")
        await asyncio.sleep(100)
    assert [round(at) for at, _ in work.done] == [0, 50]


@pytest.mark.parametrize(
    ("error", "loud"),
    [
        (ValueError("a bug"), True),
        (Conflict("changed"), False),
        (NotYet("no connection"), False),
        (ExceptionGroup("many", [Conflict("changed"), NotYet("no connection")]), False),
        (ExceptionGroup("many", [Conflict("changed"), ValueError("a bug")]), True),
    ],
)
async def test_only_unexpected_errors_are_logged_as_errors(
    error: Exception, loud: bool, caplog: pytest.LogCaptureFixture
) -> None:
    work = Work()
    work.answers = [error]
    with caplog.at_level(logging.DEBUG, "kapy.engine.controller"):
        async with running(work) as controller:
            controller.enqueue(A)
            await asyncio.sleep(1)
    (record,) = caplog.records
    assert (record.levelno >= logging.ERROR) is loud


async def test_cancelling_awaits_the_running_reconciles() -> None:
    ended: list[str] = []

    async def slow(key: Key) -> Result:
        try:
            await asyncio.sleep(100)
        finally:
            await asyncio.sleep(1)
            ended.append(key.name)
        return DONE

    async with running(slow, concurrency=2) as controller:
        controller.enqueue(A)
        controller.enqueue(B)
        controller.enqueue(C)
        await asyncio.sleep(1)
    assert sorted(ended) == ["a", "b"]
    assert len(asyncio.all_tasks()) == 1


async def test_a_failure_during_cancellation_does_not_keep_a_worker_running() -> None:
    """Of the two, a TaskGroup tells only the failure (CPython before 3.13)."""
    began: list[Key] = []

    async def fail() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            raise ConnectionResetError

    async def reconcile(key: Key) -> Result:
        began.append(key)
        async with asyncio.TaskGroup() as group:
            group.create_task(fail())
        return DONE

    controller = Controller("test", reconcile, concurrency=1)
    task = asyncio.get_running_loop().create_task(controller.run())
    controller.enqueue(A)
    controller.enqueue(B)
    await asyncio.sleep(1)
    task.cancel()
    await asyncio.wait([task], timeout=3600)
    assert task.cancelled()
    assert began == [A]


async def test_a_restarted_controller_loses_no_key() -> None:
    """Its program was cut off from the server, and is not any more."""
    work = Work()
    work.answers = [requeue(after=timedelta(hours=1), because="patience")]
    controller = Controller("widgets", work, concurrency=1)
    controller.enqueue(A)
    async with asyncio.TaskGroup() as group:
        first = group.create_task(controller.run())
        await asyncio.sleep(1)
        work.takes = 10.0
        controller.enqueue(B)
        controller.enqueue(C)
        await asyncio.sleep(1)  # A waits for a timer, B is worked on, C waits for its turn
        first.cancel()
        await asyncio.sleep(7200)
        assert work.keys == "ab"
        second = group.create_task(controller.run())
        await asyncio.sleep(60)
        assert sorted(work.keys[2:]) == ["a", "b", "c"]
        second.cancel()


async def test_changes_that_are_only_aggregated_are_debounced() -> None:
    work, server = Work(), FakeServer()
    cache = Cache(Client(server))
    widgets = cache.informer(WIDGETS)
    async with asyncio.TaskGroup() as group, running(work) as controller:
        task = group.create_task(cache.run())
        await cache.wait_for_sync()
        controller.watch(widgets, lambda change: (A,), debounce=0.5)
        for number in range(10):
            cache.observe(WIDGETS, server.put(widget(f"w{number}")))
            await asyncio.sleep(0.12)
        await asyncio.sleep(5)
        assert [round(at, 1) for at, _ in work.done] == [0.5, 1.1]
        cache.observe(WIDGETS, server.put(widget("w")))
        assert controller.wait_reason(A) == "requeue in 0.5s: gathering changes"
        controller.enqueue(A)
        await asyncio.sleep(0.1)
        assert len(work.done) == 3
        task.cancel()


async def test_keys_of_deleted_objects_are_not_debounced_for_long() -> None:
    work, server = Work(), FakeServer()
    cache = Cache(Client(server))
    widgets = cache.informer(WIDGETS)
    async with asyncio.TaskGroup() as group, running(work) as controller:
        server.put(widget("w"))
        task = group.create_task(cache.run())
        await cache.wait_for_sync()
        await asyncio.sleep(1)
        controller.watch(widgets, lambda change: () if change.new else (A,), debounce=5)
        server.remove("w")
        await asyncio.sleep(0.5)
        assert len(work.done) == 1
        task.cancel()


async def test_the_debounce_may_depend_on_the_key() -> None:
    work, server = Work(), FakeServer()
    cache = Cache(Client(server))
    widgets = cache.informer(WIDGETS)
    async with asyncio.TaskGroup() as group, running(work) as controller:
        task = group.create_task(cache.run())
        await cache.wait_for_sync()
        seconds = {A: 1.0, B: 20.0}
        controller.watch(widgets, lambda change: (A, B), debounce=seconds.__getitem__)
        server.put(widget("w"))
        await asyncio.sleep(5)
        assert [key for _, key in work.done] == [A]
        await asyncio.sleep(20)
        assert [key for _, key in work.done] == [A, B]
        task.cancel()


async def test_a_slow_controller_debounces_for_longer() -> None:
    work, server = Work(), FakeServer()
    work.takes = 30
    cache = Cache(Client(server))
    widgets = cache.informer(WIDGETS)
    async with asyncio.TaskGroup() as group, running(work) as controller:
        task = group.create_task(cache.run())
        await cache.wait_for_sync()
        controller.enqueue(B)
        await asyncio.sleep(40)
        work.done.clear()
        work.takes = 0
        controller.watch(widgets, lambda change: (A,), debounce=0.05)
        for number in range(4):
            cache.observe(WIDGETS, server.put(widget(f"w{number}")))
            await asyncio.sleep(0.06)
        assert work.done == []
        await asyncio.sleep(1)
        assert len(work.done) == 1
        task.cancel()


async def test_changes_debounced_during_a_reconcile_follow_it() -> None:
    work = Work()
    work.takes = 1
    work.answers = [requeue(after=timedelta(seconds=10), because="so it is")]
    async with running(work) as controller:
        controller.enqueue(A)
        await asyncio.sleep(0.9)
        controller.queue.add_debounced(A, 0.5)
        await asyncio.sleep(0.4)
        assert len(work.done) == 1
        await asyncio.sleep(100)
    assert [round(at, 1) for at, _ in work.done] == [0, 1.5]


async def test_two_runs_from_one_seed_are_the_same() -> None:
    async def run() -> list[tuple[float, Key]]:
        work, chance = Work(), Random(3)
        work.takes = 0.01
        async with running(work, concurrency=3) as controller:
            began = asyncio.get_running_loop().time()
            for number in range(200):
                if chance.random() < 0.3:
                    work.answers.append(ValueError("no"))
                controller.enqueue(Key("", str(chance.randrange(20))), priority=number % 3)
                await asyncio.sleep(chance.random() / 50)
            await asyncio.sleep(60)
        return [(round(at - began, 9), key) for at, key in work.done]

    assert await run() == await run()


async def test_a_finished_reconcile_keeps_no_object_and_gives_no_fields() -> None:
    contexts: list[ReconcileContext | None] = []

    async def reconcile(key: Key) -> Result:
        set_object(widget(key.name))
        contexts.append(CURRENT.get())
        assert fields_of(RECORD)["name"] == key.name
        return DONE

    controller = Controller("widget", reconcile)
    controller.enqueue(A)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await controller.run()
    (context,) = contexts
    assert context is not None
    assert context.document is None
    token = CURRENT.set(context)
    assert fields_of(RECORD) == {}
    CURRENT.reset(token)
