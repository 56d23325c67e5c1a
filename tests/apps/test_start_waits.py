"""A plane that starts waits for nothing for ever, and says what it waits for."""

from __future__ import annotations

import asyncio
import logging

import pytest

from kapy._aio.clock import loop_clock
from kapy.apps.all_in_one import management_plane
from kapy.apps.settings import Settings
from kapy.apps.start_waits import START_TIMEOUT, NotStarted, wait_with_limit
from kapy.engine.runtime import Runtime
from kapy.kube.names import Resource
from kapy.sdk.provider import Provider

CLOUDS = Resource("infrastructure.example.com", "v1", "clouds", "Cloud")


def read_clouds(runtime: Runtime) -> None:
    runtime.cache.informer(CLOUDS)


LACKING = Provider(name="lacking", kinds=(), add_to=read_clouds, image="registry.example.com/x")


async def test_a_provider_without_its_kinds_does_not_start(
    caplog: pytest.LogCaptureFixture,
) -> None:
    began = asyncio.get_running_loop().time()
    with pytest.raises(NotStarted, match=r"clouds\.infrastructure\.example\.com has no CustomRes"):
        async with management_plane(Settings(providers=(LACKING,)), clock=loop_clock()):
            pass
    assert asyncio.get_running_loop().time() - began == pytest.approx(START_TIMEOUT, abs=1)
    getmessages = [
        record.getMessage() for record in caplog.records if record.name == "kapy.apps.start_waits"
    ]
    assert "waiting for the objects that controllers read: clouds.infrastructure" in getmessages[0]
    assert getmessages[1] == "still waiting after 15 s (of 60)"


async def test_a_long_wait_is_reported_with_its_present_reason(
    caplog: pytest.LogCaptureFixture,
) -> None:
    subjects = ["a", "b"]

    async def wait() -> None:
        async with wait_with_limit(lambda: subjects[-1], limit=20):
            await asyncio.sleep(6)
            subjects.append("a")
            await asyncio.sleep(1000)

    with pytest.raises(NotStarted, match="the plane waited 20 s for a"):
        await wait()
    getmessages = [record.getMessage() for record in caplog.records]
    assert getmessages == ["waiting for b", "waiting for a"]


async def test_a_wait_that_makes_progress_is_not_limited() -> None:
    remaining = 30

    async def work() -> None:
        nonlocal remaining
        while remaining > 20:
            await asyncio.sleep(15)
            remaining -= 1
        await asyncio.sleep(1000)

    began = asyncio.get_running_loop().time()
    with pytest.raises(NotStarted):
        async with wait_with_limit("parts", limit=60, remaining=lambda: remaining):
            await work()
    assert 10 * 15 < asyncio.get_running_loop().time() - began <= 10 * 15 + 60 + 10


async def test_a_short_wait_logs_nothing_and_raises_its_errors(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, "kapy.apps.start_waits")
    async with wait_with_limit("nothing"):
        await asyncio.sleep(1)
    with pytest.raises(TimeoutError, match="of somebody else"):
        async with wait_with_limit("nothing"):
            raise TimeoutError("of somebody else")
    await asyncio.sleep(100)
    assert not caplog.records
