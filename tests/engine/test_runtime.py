"""The parts of a program start, work together and end."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from datetime import timedelta
from email.utils import format_datetime
from random import Random

import pytest

from kapy._aio.clock import loop_clock
from kapy._aio.services import Stopped
from kapy.engine.cache import Change
from kapy.engine.controller import Controller
from kapy.engine.result import DONE, Result
from kapy.engine.runtime import Runtime
from kapy.kube import Key
from kapy.kube.errors import ServerError
from kapy.kube.http import Reply, Request
from tests.engine.fake_server import WIDGETS, FakeServer, widget


class Seen:
    def __init__(self) -> None:
        self.keys: list[str] = []

    async def __call__(self, key: Key) -> Result:
        self.keys.append(key.name)
        return DONE


@asynccontextmanager
async def running(runtime: Runtime) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(runtime.run())
        yield
        task.cancel()
    assert len(asyncio.all_tasks()) == 1


async def test_controllers_start_when_their_caches_have_synced() -> None:
    server, reconciler = FakeServer(), Seen()
    server.put(widget("a"))
    server.faults.append(lambda request: ServerError("starting"))
    runtime = Runtime.on(server, clock=loop_clock(), random=Random(1))
    controller = runtime.add(Controller("widgets", reconciler))
    controller.watch(runtime.cache.informer(WIDGETS))
    async with running(runtime):
        await asyncio.sleep(60)
        assert reconciler.keys == []
        server.faults.clear()
        await asyncio.sleep(60)
        assert reconciler.keys == ["a"]


async def test_a_runtime_without_controllers_or_informers_just_waits() -> None:
    runtime = Runtime.on(FakeServer(), clock=loop_clock())
    async with running(runtime):
        await asyncio.sleep(3600)


async def test_a_request_for_the_time_of_the_server_ends_with_the_runtime() -> None:
    truth, ahead, paths = loop_clock(), timedelta(), list[str]()

    async def server(request: Request) -> Reply:
        paths.append(request.path)
        if request.path == "/version":
            await asyncio.sleep(60)
        return Reply(200, {}, {"date": format_datetime(truth(), usegmt=True)})

    runtime = Runtime.on(server, clock=lambda: truth() + ahead)
    async with running(runtime):
        await runtime.client.transport(Request("GET", "/x"))
        runtime.clock()
        ahead = timedelta(hours=1)
        runtime.clock()
        await asyncio.sleep(1)
        assert paths == ["/x", "/version"]


async def test_initial_objects_are_reconciled_after_new_ones() -> None:
    server, reconciler = FakeServer(), Seen()
    for name in ("a", "b", "c"):
        server.put(widget(name))
    runtime = Runtime.on(server, clock=loop_clock())
    controller = runtime.add(Controller("widgets", reconciler, concurrency=1))
    controller.watch(runtime.cache.informer(WIDGETS))
    controller.enqueue(Key("default", "urgent"))
    async with running(runtime):
        await asyncio.sleep(1)
    assert reconciler.keys == ["urgent", "a", "b", "c"]


async def test_a_repeated_watch_is_registered_once() -> None:
    class Mapping:
        def keys(self, change: Change) -> Iterable[Key]:
            return (Key("", "mapped"),)

    server, reconciler, mapping = FakeServer(), Seen(), Mapping()
    runtime = Runtime.on(server, clock=loop_clock())
    controller = runtime.add(Controller("widgets", reconciler))
    informer = runtime.cache.informer(WIDGETS)
    async with running(runtime):
        for _ in range(3):
            controller.watch(informer, mapping.keys)
            controller.watch(runtime.cache.informer(WIDGETS))
        await asyncio.sleep(1)
        server.put(widget("a"))
        await asyncio.sleep(1)
    assert sorted(reconciler.keys) == ["a", "mapped"]


async def test_a_controller_keeps_no_informer_alive() -> None:
    runtime = Runtime.on(FakeServer(), clock=loop_clock())
    controller = Controller("widgets", Seen())
    runtime.cache.informer(WIDGETS)
    controller.watch(runtime.cache.informer(WIDGETS))
    assert len(controller._watched) == 1
    del runtime
    gc.collect()
    assert len(controller._watched) == 0


async def test_a_failed_part_ends_the_runtime() -> None:
    server = FakeServer()
    runtime = Runtime.on(server, clock=loop_clock())

    async def end() -> None:
        return

    runtime.cache.run = end  # type: ignore[method-assign]
    with pytest.raises(ExceptionGroup) as caught:
        await runtime.run()
    assert caught.group_contains(Stopped)
    assert len(asyncio.all_tasks()) == 1


async def test_own_writes_are_read_at_once_and_not_delayed_by_events() -> None:
    server = FakeServer()
    runtime = Runtime.on(server, clock=loop_clock())
    informer = runtime.cache.informer(WIDGETS)
    stale: list[bool] = []

    async def reconcile(key: Key) -> Result:
        document = informer.raw(key)
        assert document is not None
        size = document.get("spec", {}).get("size", 0)
        stale.append(size != len(stale))
        if size < 20:
            await runtime.client.patch(WIDGETS, key, {"spec": {"size": size + 1}})
        return DONE

    runtime.add(Controller("widgets", reconcile)).watch(informer)
    async with running(runtime):
        await runtime.cache.wait_for_sync()
        server.put(widget("a"))
        await asyncio.sleep(10)
    assert stale == [False] * 21
