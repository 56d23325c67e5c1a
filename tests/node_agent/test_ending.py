"""A container gets its preStop hook before the signal, and no more than the grace period in all."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from kapy.node_agent.lifecycle_hooks import MIN_SECONDS, stop_container
from kapy.node_agent.runtime import Exit
from kapy.testing import on_virtual_time

AT = datetime(2026, 1, 1, tzinfo=UTC)


class Container:
    """A running container. log: each call with its time. works: seconds that a command takes.
    life: seconds after which it ends by itself."""

    def __init__(self, works: float = 0.0, life: float = 1e6) -> None:
        self.log: list[tuple[float, str]] = []
        self._works = works
        self._life = life
        self._begin = asyncio.get_running_loop().time()

    def _tell(self, text: str) -> None:
        self.log.append((round(asyncio.get_running_loop().time() - self._begin, 3), text))

    async def ended(self) -> Exit:
        await asyncio.sleep(self._life)
        return Exit(0, "Completed", AT)

    async def stop(self, seconds: float) -> None:
        self._tell(f"stop within {seconds:g}")

    async def execute(self, command: Sequence[str], seconds: float) -> int:
        self._tell(" ".join(command))
        await asyncio.sleep(self._works)
        return 0


def hook(**item: Any) -> dict[str, Any]:
    return {"name": "manager", "lifecycle": {"preStop": item}}


@pytest.mark.parametrize(
    ("container", "works", "life", "log"),
    [
        ({"name": "manager"}, 0, 100, [(0, "stop within 30")]),
        (hook(sleep={"seconds": 5}), 0, 100, [(5, "stop within 25")]),
        (hook(sleep={"seconds": 5}), 0, 1, [(1, "stop within 29")]),
        (hook(sleep={"seconds": 60}), 0, 100, [(30, f"stop within {MIN_SECONDS:g}")]),
        (hook(exec={"command": ["bye"]}), 4, 100, [(0, "bye"), (4, "stop within 26")]),
        (hook(exec={"command": ["bye"]}), 90, 100, [(0, "bye"), (30, "stop within 2")]),
    ],
)
def test_the_pre_stop_hook_runs_first_within_the_grace_period(
    container: dict[str, Any], works: float, life: float, log: list[tuple[float, str]]
) -> None:
    @on_virtual_time
    async def played() -> list[tuple[float, str]]:
        running = Container(works, life)
        await stop_container(container, running, 30.0)  # type: ignore[arg-type]
        return running.log

    assert played() == log
