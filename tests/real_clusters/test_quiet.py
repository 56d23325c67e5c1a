"""Changes of a control plane behind a load balancer that stumbles are no failures in the log.

`make test-real` runs it where KAPY_REAL_QUIET is set: watches are idle for minutes.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest
from aiodocker import Docker, DockerError

from kapy.kube.names import CONFIG_MAPS
from tests.real_clusters.growing import create, grow_control_plane, shrink_control_plane
from tests.real_clusters.life import Life, beside, living
from tests.real_clusters.parts import tell
from tests.real_clusters.test_life import delete

pytestmark = pytest.mark.sockets

FROZEN: Final = 12.0
"""Seconds: longer than kapy waits for the deletion of a Node to be answered."""
THAWED: Final = 7.0
IDLE: Final = 150.0
"""Seconds: three times as long as the load balancer keeps a connection on which nothing is sent."""


async def stumble(life: Life) -> None:
    """Freeze the load balancer again and again."""
    docker = Docker(life.engine.address)
    balancer = docker.containers.container("real-lb")
    try:
        while True:
            await asyncio.sleep(THAWED)
            await balancer.pause()
            try:
                await asyncio.sleep(FROZEN)
            finally:
                with suppress(DockerError):  # a signal of kapy's, after a change, ended the pause
                    await balancer.unpause()
    finally:
        await docker.close()


async def idle(life: Life) -> None:
    """A watch on which nothing happens goes on through the load balancer."""
    client = await life.workload()
    began = time.monotonic()
    async with client.watch(CONFIG_MAPS, "default", labels="example.com/none") as events:
        with suppress(TimeoutError):
            async with asyncio.timeout(IDLE):
                async for event in events:
                    tell(f"  an event after {time.monotonic() - began:.0f} s: {event.type}")
                raise AssertionError(f"the watch ended after {time.monotonic() - began:.0f} s")
    life.done("an idle watch goes on")


async def test_a_control_plane_shrinks_behind_a_load_balancer_that_stumbles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="kapy")

    def warnings() -> list[str]:
        records = [item for item in caplog.records if item.name.startswith("kapy")]
        return [item.getMessage() for item in records if item.levelno >= logging.WARNING]

    async with living(tmp_path, monkeypatch) as (life, _):
        await create(life)
        await grow_control_plane(life)
        assert warnings() == [], "machines joined"
        await idle(life)
        assert warnings() == [], "watches were idle"
        async with beside(stumble(life)):
            await shrink_control_plane(life)
        names = {node["metadata"]["name"] for node in await life.nodes()}
        assert names == {life.node_of(machine) for machine in await life.machines()}
        assert warnings() == [], "Nodes were deleted slowly"
        await delete(life)
        assert warnings() == []
