"""The log of a reflector: a short outage is no warning, a long one is one warning."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kapy.client.client import Client
from kapy.engine.reflector import TOLERATED, Reflector
from kapy.engine.store import Store
from kapy.kube.errors import ApiError, Forbidden, TooManyRequests, Unreachable
from kapy.kube.http import Request
from tests.engine.fake_server import WIDGETS, FakeServer, Fault


@asynccontextmanager
async def followed(server: FakeServer) -> AsyncIterator[Reflector]:
    reflector = Reflector(Client(server), WIDGETS, Store(), random.Random(1))
    reflector.origin = "cluster default/blue"
    async with asyncio.TaskGroup() as group:
        task = group.create_task(reflector.run())
        await asyncio.sleep(2 * TOLERATED)
        yield reflector
        task.cancel()


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [item.getMessage() for item in caplog.records if item.levelno >= logging.WARNING]


def out_of_reach(_: Request) -> ApiError | Exception | None:
    return Unreachable("cannot reach 192.0.2.1:6443: the other side hung up")


def reinitializing(_: Request) -> ApiError | Exception | None:
    """The answer of kube-apiserver for a moment after a CRD has changed."""
    return TooManyRequests("storage is (re)initializing", retry_after=1)


@pytest.mark.parametrize("fault", [out_of_reach, reinitializing])
async def test_a_server_that_is_soon_back_is_no_warning(
    fault: Fault, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server = FakeServer()
    async with followed(server) as reflector:
        for _ in range(3):
            server.faults.append(fault)
            server.break_watches()
            await asyncio.sleep(TOLERATED / 2)
            assert isinstance(reflector.failure, (Unreachable, TooManyRequests))
            server.faults.clear()
            await asyncio.sleep(4 * TOLERATED)
            assert server.watches == 1, "it is followed again"
    assert warnings(caplog) == []
    assert "watching widgets of cluster default/blue" in caplog.text


async def test_a_server_that_stays_away_is_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    server = FakeServer()
    async with followed(server):
        server.faults.append(out_of_reach)
        server.break_watches()
        await asyncio.sleep(100 * TOLERATED)
    assert warnings(caplog) == [
        "watching widgets of cluster default/blue: Unreachable: cannot reach 192.0.2.1:6443: "
        "the other side hung up"
    ]


async def test_a_refusal_is_a_warning_at_once(caplog: pytest.LogCaptureFixture) -> None:
    server = FakeServer()
    async with followed(server):
        server.faults.append(lambda _: Forbidden("no rule allows it"))
        server.break_watches()
        await asyncio.sleep(TOLERATED / 4)
        assert len(warnings(caplog)) == 1
