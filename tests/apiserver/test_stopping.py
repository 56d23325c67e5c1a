"""Tests of shutdown: watches end, pending requests are answered, and later ones are refused."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import aiohttp
import pytest

from kapy._aio.clock import system_clock
from kapy.apiserver.auth.authentication import Authenticator
from kapy.apiserver.controllers.namespaces import ensure_system_namespaces
from kapy.apiserver.server import Server
from kapy.apiserver.serving import Application, listen, listener
from tests.apiserver.requester import CONFIG_MAPS, config_map
from tests.apiserver.requests.test_max_in_flight import Slow
from tests.apiserver.test_serving import TOKENS
from tests.waiting import LIMIT, until

pytestmark = pytest.mark.sockets


async def started(slow: Slow) -> tuple[Server, Any, str]:
    server = Server.open(None, clock=system_clock, admission=(slow,))
    ensure_system_namespaces(server.context)
    serving = listen(Application(server, Authenticator(TOKENS)))
    host, port = await serving.__aenter__()
    return server, serving, f"http://{host}:{port}"


async def test_a_shutdown_ends_watches_finishes_requests_and_refuses_new_ones() -> None:
    slow = Slow()
    server, serving, url = await started(slow)
    headers = {"Authorization": "Bearer good"}
    async with aiohttp.ClientSession(headers=headers) as session, asyncio.TaskGroup() as group:

        async def post() -> int:
            async with session.post(url + CONFIG_MAPS, json=config_map("a")) as reply:
                return reply.status

        async with session.get(f"{url}{CONFIG_MAPS}?watch=1") as watch:
            posted = group.create_task(post())
            room = server.max_in_flight.mutating
            await until(lambda: room.now == 1)
            server.health.begin_shutdown()
            ending = group.create_task(serving.__aexit__(None, None, None))
            assert await watch.content.read() == b""  # the end of the stream, not of the wire
            async with session.get(f"{url}/readyz") as probe:
                assert probe.status == 500
                assert "[-]shutdown failed" in await probe.text()
            async with session.get(url + CONFIG_MAPS) as late:
                assert (late.status, late.headers["Retry-After"]) == (503, "1")
                assert json.loads(await late.read())["reason"] == "ServiceUnavailable"
            slow.go.set()
            assert await posted == 201
            await ending
        with pytest.raises(aiohttp.ClientConnectorError):
            await session.get(url)
    server.close()


async def test_a_slow_request_does_not_delay_the_shutdown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(listener, "GRACE", 0.2)
    server, serving, url = await started(Slow())
    headers = {"Authorization": "Bearer good"}
    async with aiohttp.ClientSession(headers=headers) as session, asyncio.TaskGroup() as group:

        async def post() -> None:
            with pytest.raises(aiohttp.ClientError):
                await session.post(url + CONFIG_MAPS, json=config_map("a"))

        posted = group.create_task(post())
        await until(lambda: server.max_in_flight.mutating.now == 1)
        async with asyncio.timeout(LIMIT):
            await serving.__aexit__(None, None, None)
            await posted
    server.close()
