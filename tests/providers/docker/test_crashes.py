"""A program that is killed at any step of a creation or deletion, and started again.

Whatever the engine was asked for last, before or after it did it: each machine has one container,
kubeadm ran once, and nothing is left in the end.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from random import Random
from typing import Any, BinaryIO, TypeVar

import pytest

from kapy.engine.runtime import Runtime
from kapy.providers.docker.engine import CommandResult
from kapy.testing.provider_bench import key
from tests.providers.docker.paper_engine import PaperEngine
from tests.providers.docker.stage import DEV, Stage, controllers, is_provisioned, playing, status

T = TypeVar("T")
STEPS = range(1, 48) if os.environ.get("KAPY_ALL_CRASHES") else range(1, 48, 6)
"""Which of the changes that the engine is asked for is the last one of the first program."""


class Mortal(PaperEngine):
    """An engine whose client is killed once: before or after it makes a change."""

    def __init__(self, fatal: int) -> None:
        super().__init__()
        self.killed = asyncio.Event()
        self._fatal = fatal
        self._changes = 0

    async def create(self, name: str, config: Mapping[str, Any]) -> str:
        return await self._changing(lambda: super(Mortal, self).create(name, config))

    async def start(self, name: str) -> None:
        return await self._changing(lambda: super(Mortal, self).start(name))

    async def remove(self, name: str) -> bool:
        return await self._changing(lambda: super(Mortal, self).remove(name))

    async def kill(self, name: str, signal: str = "SIGKILL") -> None:
        return await self._changing(lambda: super(Mortal, self).kill(name, signal))

    async def run(
        self,
        name: str,
        command: Sequence[str],
        *,
        stdin: bytes | BinaryIO = b"",
        environment: Mapping[str, str] | None = None,
    ) -> CommandResult:
        run = partial(super().run, name, command, stdin=stdin, environment=environment)
        return await self._changing(run)

    async def _changing(self, change: Callable[[], Awaitable[T]]) -> T:
        await self._survive()
        answer = await change()
        await self._survive()
        return answer

    async def _survive(self) -> None:
        self._changes += 1
        if self._changes == self._fatal:
            self.killed.set()
            await asyncio.Event().wait()


@asynccontextmanager
async def killed_once(stage: Stage) -> AsyncIterator[None]:
    """The controllers of a program, which is killed, and of the one that follows it."""
    assert isinstance(stage.engine, Mortal)
    engine = stage.engine

    async def programs() -> None:
        async with controllers(stage):
            await engine.killed.wait()
        bench = stage.bench
        bench.runtime = Runtime.on(
            bench.transport, clock=bench.clock, field_manager="provider", random=Random(8)
        )
        async with controllers(stage):
            await asyncio.Event().wait()

    async with asyncio.TaskGroup() as group:
        task = group.create_task(programs())
        yield
        task.cancel()


@pytest.mark.parametrize("fatal", STEPS)
async def test_a_program_killed_during_a_creation(fatal: int) -> None:
    async with playing(engine=Mortal(fatal), follow=killed_once) as stage:
        await stage.cluster()
        await stage.machine("cp-0", control_plane=True)
        await stage.machine("worker-0")
        for name in ("cp-0", "worker-0"):
            found = await stage.booted(name)
            assert is_provisioned(found)
            ran = stage.engine.made[f"blue-{name}"].ran
            assert sum("kubeadm init" in one for one in ran) == 1
        assert stage.engine.names() == ["blue-cp-0", "blue-lb", "blue-worker-0"]
        assert stage.balancer.count("  server blue-cp-0 ") == 1
        assert "blue-worker-0" not in stage.balancer
        found = await stage.until("cp-0", lambda one: status(one, "Ready") == "True")
        assert found["spec"]["providerID"] == "docker:////blue-cp-0"


@pytest.mark.parametrize("fatal", range(1, 12, 2))
async def test_a_program_killed_during_a_deletion(fatal: int) -> None:
    engine = Mortal(-1)
    async with playing(engine=engine, follow=killed_once) as stage:
        await stage.cluster()
        await stage.machine("cp-0", control_plane=True)
        await stage.machine("worker-0")
        for name in ("cp-0", "worker-0"):
            await stage.booted(name)
        engine._changes, engine._fatal = 0, fatal
        for name in ("cp-0", "worker-0"):
            await stage.delete_machine(name)
        for name in ("cp-0", "worker-0"):
            await stage.bench.until_gone(DEV.machine, name)
        await stage.bench.client.delete(DEV.cluster, key("blue"))
        await stage.bench.until_gone(DEV.cluster, "blue")
        assert stage.engine.names() == []
        assert not stage.engine.networks
