"""Kapy's manager takes over what upstream's docker manager made, and the reverse.

`make test-real` runs it where KAPY_REAL_UPSTREAM is set: upstream's manager has to be built first.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from kapy._aio.clock import system_clock
from kapy.apps.all_in_one import management_plane
from kapy.apps.settings import ControllerConfig, ManagerName, Serving, Settings
from kapy.containers import Engine
from tests.real_clusters.engine import container_engine
from tests.real_clusters.growing import create
from tests.real_clusters.life import Life
from tests.real_clusters.parts import tell
from tests.real_clusters.test_life import delete
from tests.real_clusters.upstream import complete_images, upstreams_manager

pytestmark = pytest.mark.sockets


@asynccontextmanager
async def looked_after(engine: Engine, folder: Path, *, by_upstream: bool) -> AsyncIterator[Life]:
    """The plane in a folder; its containers are upstream's matter, or kapy's."""
    ours: frozenset[ManagerName] = frozenset(["infrastructure-dev"])
    settings = Settings(
        data=folder / "plane",
        serving=Serving(pki=folder / "pki"),
        controllers=ControllerConfig(disabled_managers=ours if by_upstream else frozenset()),
    )
    async with AsyncExitStack() as stack:
        plane = await stack.enter_async_context(management_plane(settings, clock=system_clock))
        if by_upstream:
            manager = upstreams_manager(plane, engine, folder / "upstream")
            await stack.enter_async_context(manager)
        life = Life(plane.client, engine, folder)
        stack.push_async_callback(life.close)
        yield life


async def containers(engine: Engine) -> Mapping[str, str]:
    """The IDs of all containers that run, by name."""
    return {
        container.name: container.id
        for container in await engine.containers()
        if container.is_running
    }


async def test_a_cluster_changes_hands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with container_engine(tmp_path) as engine:
        monkeypatch.setenv("DOCKER_HOST", engine.address)
        await complete_images(engine)
        async with looked_after(engine, tmp_path, by_upstream=True) as life:
            await create(life)
            created = await containers(engine)
        async with looked_after(engine, tmp_path, by_upstream=False) as life:
            await life.scale_workers(2)
            life.done("kapy took over upstream's cluster, workers 1 to 2")
            now = await containers(engine)
            assert created.items() <= now.items()
            await life.pod_runs("with-kapy")
        async with looked_after(engine, tmp_path, by_upstream=True) as life:
            await life.scale_control_plane(3)
            life.done("upstream's took over kapy's, control plane 1 to 3")
            assert now.items() <= (await containers(engine)).items()
        async with looked_after(engine, tmp_path, by_upstream=False) as life:
            await asyncio.sleep(5)
            await life.scale_control_plane(1)
            life.done("kapy took over again, control plane 3 to 1")
            await delete(life)
    tell("a cluster went from upstream's manager to kapy's, back, and to kapy's again")
