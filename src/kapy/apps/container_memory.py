"""The memory that the containers of a plane use, as their engine tells it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from kapy.containers import Container, Engine, EngineError
from kapy.node_agent.containers.names import PLANE, POD_UID
from kapy.node_agent.containers.network import read_used

PATIENCE: Final = 5.0
"""Seconds that an engine gets to tell the memory of all containers."""


async def memory_of_containers(plane: Path, agent: Path) -> Mapping[str, int]:
    """Bytes of memory by the uids of Pods, as far as the engine tells. plane, agent: folders."""
    used = read_used(agent)
    found: Counter[str] = Counter()
    if used is None:
        return found
    async with Engine(used.engine) as engine:

        async def ask(one: Container) -> None:
            with suppress(EngineError):  # it has ended meanwhile
                found[one.labels.get(POD_UID, "")] += await engine.memory(one.id)

        with suppress(EngineError, TimeoutError):
            async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
                for one in await engine.containers({PLANE: str(plane)}):
                    if one.is_running:
                        group.create_task(ask(one))
    return found
