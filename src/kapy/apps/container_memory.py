"""The memory usage of a plane's containers, from their engine."""

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
from kapy.node_agent.processes.records import memory_of

TIMEOUT: Final = 5.0
"""Seconds for an engine to report the memory of all containers."""


async def memory_of_containers(plane: Path, agent: Path) -> Mapping[str, int]:
    """Bytes of memory by Pod UID, as far as they are known. plane, agent: folders."""
    used = read_used(agent)
    result: Counter[str] = Counter()
    if used is None:
        return result
    async with Engine(used.engine) as engine:

        async def ask(container: Container) -> None:
            with suppress(EngineError):  # it has ended in between
                result[container.labels.get(POD_UID, "")] += await _memory(engine, container)

        with suppress(EngineError, TimeoutError):
            async with asyncio.timeout(TIMEOUT):
                there = await engine.containers({PLANE: str(plane)})
                async with asyncio.TaskGroup() as group:
                    for item in there:
                        if item.is_running:
                            group.create_task(ask(item))
    return result


async def _memory(engine: Engine, container: Container) -> int:
    """Return the memory of one container from the engine, else from the kernel for its first
    process.

    Raises EngineError.
    """
    memory = await engine.memory(container.id)
    if memory:
        return memory
    result = await engine.container(container.id)  # the engine's machine has no memory controller
    return memory_of(result.pid) if result is not None and result.pid else 0
