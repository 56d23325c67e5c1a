"""Open pages hear of what they show, and cost a bounded share of the time."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from random import Random

import pytest

from kapy._aio.clock import loop_clock
from kapy.client.client import Client
from kapy.kube import Document, Key
from kapy.kube.errors import Forbidden
from kapy.kube.http import Reply, Request
from kapy.testing import on_virtual_time
from kapy.ui.fleet import Fleet
from kapy.ui.hook_calls import LONGEST_PAUSE as LONGEST_RETRY
from kapy.ui.hook_calls import HookCalls
from kapy.ui.live import LEAST_PAUSE, LONGEST_PAUSE, change_events, pause_after
from tests.ui.clusters import cluster


@pytest.mark.parametrize(
    ("seconds", "pause"), [(0.0, LEAST_PAUSE), (0.3, 1.5), (60.0, LONGEST_PAUSE)]
)
def test_the_pause_grows_with_the_cost_of_the_page(seconds: float, pause: float) -> None:
    assert pause_after(seconds) == pause


@on_virtual_time
async def test_a_stream_reports_changes_no_faster_than_the_page_is_made() -> None:
    fleet, key = Fleet(None, [], Random()), Key("default", "a")  # type: ignore[arg-type]
    stream = change_events(fleet.subscribe, lambda: 1.0).stream
    assert stream is not None
    assert [await anext(stream), await anext(stream)] == [
        b"retry: 1000\n\n",
        b"event: change\ndata: 1\n\n",
    ]
    loop, times = asyncio.get_running_loop(), list[float]()
    for number in range(3):
        fleet.put(key, cluster("a", labels={"turn": str(number)}))
        assert b"change" in await anext(stream)
        times.append(loop.time())
    await stream.aclose()
    assert [later - earlier for earlier, later in pairwise(times)] == [5.0, 5.0]


@on_virtual_time
async def test_a_current_page_is_not_reloaded() -> None:
    fleet, key = Fleet(None, [], Random(1)), Key("default", "a")  # type: ignore[arg-type]
    assert fleet.version != Fleet(None, [], Random(2)).version  # type: ignore[arg-type]
    fleet.put(key, cluster("a"))
    await fleet.rows()
    shown = fleet.version
    async with fleet.subscribe(shown) as current:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(60):
                await current.wait()
    fleet.put(key, cluster("a", labels={"turn": "1"}))
    async with fleet.subscribe(shown) as late, asyncio.timeout(60):
        await late.wait()


@on_virtual_time
async def test_an_update_without_a_changed_row_is_no_change() -> None:
    fleet, key = Fleet(None, [], Random()), Key("default", "a")  # type: ignore[arg-type]
    async with fleet.subscribe() as subscription:
        fleet.put(key, cluster("a", resourceVersion="1"))
        await subscription.wait()
        fleet.put(key, cluster("a", resourceVersion="2"))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(60):
                await subscription.wait()
        fleet.put(key, None)
        async with asyncio.timeout(60):
            await subscription.wait()
    assert await fleet.rows() == []


class _Plane:
    """A plane whose calls of hooks the viewer may read from the third request on."""

    def __init__(self) -> None:
        self.asked = 0

    async def __call__(self, request: Request) -> Reply:
        self.asked += 1
        if self.asked < 3:
            raise Forbidden("not yet")
        return Reply(200, _Stream())


class _Stream:
    """One call, then silence."""

    def __init__(self) -> None:
        self._calls: list[Document] = [
            {
                "time": "2026-01-01T00:00:00.000Z", "hook": "BeforeClusterUpgrade", "handler": "h",
                "seconds": 0.1, "code": 200,
                "response": {"status": "Success", "message": "no", "retryAfterSeconds": 60},
                "request": {"cluster": {"metadata": {"namespace": "default", "name": "a"}}},
            }
        ]  # fmt: skip

    def __aiter__(self) -> _Stream:
        return self

    async def __anext__(self) -> Document:
        while not self._calls:
            await asyncio.Event().wait()
        return self._calls.pop()

    async def aclose(self) -> None:
        """Nothing is open."""


@on_virtual_time
async def test_calls_of_hooks_are_followed_once_the_viewer_may_read_them() -> None:
    plane = _Plane()
    calls = HookCalls(Client(plane), loop_clock())
    async with asyncio.TaskGroup() as group:
        task = group.create_task(calls.run())
        await asyncio.sleep(3 * LONGEST_RETRY)
        task.cancel()
    (call,) = calls.of(Key("default", "a"))
    assert plane.asked == 3
    assert call.retry is not None
    assert (call.message, (call.retry - call.time).total_seconds()) == ("no", 60)
