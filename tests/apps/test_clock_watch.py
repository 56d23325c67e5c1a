"""A clock that jumps is reported: at the start, while the plane runs, and nothing else is done."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from kapy._aio.clock import EPOCH, loop_clock
from kapy.apps.all_in_one import ManagementPlane, management_plane
from kapy.apps.clock_watch import (
    CHECK_SECONDS,
    MAX_BACKWARD,
    MAX_FORWARD,
    TOLERANCE,
    ClockWatch,
    steady_clock,
)
from kapy.apps.settings import Serving, Settings
from kapy.client.client import Client
from kapy.kube.names import EVENTS


class Day:
    """A clock that somebody sets."""

    def __init__(self) -> None:
        self.ahead, self._clock = timedelta(), loop_clock()

    def __call__(self) -> datetime:
        return self._clock() + self.ahead


@pytest.mark.parametrize(
    ("jump", "says"),
    [
        (timedelta(days=9 * 365), "the clock was set 3285 days ahead: 2034-12-30"),
        (timedelta(hours=-3), "the clock was set 3 h 0 min 0 s back"),
        (TOLERANCE, "the clock was set 0 h 0 min 10 s ahead"),
        (TOLERANCE / -2, ""),
    ],
)
async def test_a_clock_jump_is_reported_once(
    jump: timedelta, says: str, caplog: pytest.LogCaptureFixture
) -> None:
    day, messages = Day(), list[str]()
    watch = ClockWatch(day)
    watch.callbacks.append(messages.append)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(watch.run())
        await asyncio.sleep(10 * CHECK_SECONDS)
        assert messages == []
        day.ahead += jump
        await asyncio.sleep(10 * CHECK_SECONDS)
        running.cancel()
    assert len(messages) == (1 if says else 0)
    assert watch.remark.startswith(says)
    assert says in caplog.text


@pytest.mark.parametrize(
    ("passed", "says"),
    [
        (timedelta(days=9 * 365), "3285 days after the last write"),
        (timedelta(days=-9 * 365), "3285 days before the last write"),
        (-2 * MAX_BACKWARD, "0 h 2 min 0 s before the last write"),
        (MAX_FORWARD, ""),
        (-MAX_BACKWARD, ""),
    ],
)
async def test_the_start_is_compared_with_the_last_write(passed: timedelta, says: str) -> None:
    watch = ClockWatch(loop_clock())
    watch.compare(None)
    watch.compare(EPOCH - passed)
    assert says in watch.remark
    assert bool(watch.remark) is bool(says)


def test_the_steady_clock_is_not_affected() -> None:
    assert steady_clock() <= steady_clock()


async def _jumps(plane: ManagementPlane) -> list[str]:
    await asyncio.sleep(1)
    events = await Client(plane.transport).list(EVENTS)
    return [document["message"] for document in events.items if document["reason"] == "ClockJumped"]


@pytest.mark.sockets
async def test_a_wrong_clock_does_not_keep_a_plane_from_starting(tmp_path: Path) -> None:
    """Nine years ahead, as in 2035, and back again: with the same authority and all objects."""
    settings = Settings(
        data=tmp_path / "data", serving=Serving(port=0, pki=tmp_path / "pki"), inventory=True
    )
    day, authorities = Day(), set[bytes]()
    results: list[list[str]] = []
    for ahead in (0, 9 * 365, 0):
        day.ahead = timedelta(days=ahead)
        async with management_plane(settings, clock=day) as plane:
            assert plane.kubeconfig is not None
            authorities.add(plane.kubeconfig.certificate_authority)
            results.append(await _jumps(plane))
    assert len(authorities) == 1
    assert results[0] == []
    assert ["3285 days after" in text for text in results[1]] == [True]
    assert any("328" in text and "days before" in text for text in results[2])
