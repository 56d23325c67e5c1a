"""A provider that never pauses does not hold up its judgement."""

from __future__ import annotations

import asyncio

import pytest

from kapy._aio.clock import loop_clock
from kapy.client.client import Client
from kapy.kube.http import User
from kapy.kube.names import CONFIG_MAPS
from kapy.testing.conformance.write_log import AT_ONCE, PROVIDER_USER, RecordingServer


async def test_a_flood_of_requests_does_not_stop_virtual_time() -> None:
    server = RecordingServer.open(None, clock=loop_clock())
    assert isinstance(server, RecordingServer)
    provider = User(PROVIDER_USER, ("system:masters", "system:authenticated"))
    client = Client(server.transport(provider))
    requests = 0

    async def flood() -> None:
        nonlocal requests
        while True:
            await client.list(CONFIG_MAPS)
            requests += 1

    try:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await flood()
    finally:
        server.close()
    assert requests >= AT_ONCE
