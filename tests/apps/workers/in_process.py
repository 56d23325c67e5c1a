"""Workers of a plane in the process of the test: the same code, without sockets."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random

from kapy._aio.clock import Clock
from kapy.apps.workers.channel import Channel
from kapy.apps.workers.process import Worker
from kapy.kube.errors import KapyError


class Link:
    """One direction of a connection: frames arrive in the order in which they were sent."""

    def __init__(self) -> None:
        self.peer: Callable[[int, int, bytes], None] | None = None
        self.on_close: Callable[[], None] | None = None

    def send(self, kind: int, number: int, payload: bytes) -> None:
        asyncio.get_running_loop().call_soon(self._deliver, kind, number, payload)

    def _deliver(self, kind: int, number: int, payload: bytes) -> None:
        if self.peer is not None:
            self.peer(kind, number, payload)

    async def drain(self) -> None:
        return

    def close(self) -> None:
        if self.on_close is not None:
            asyncio.get_running_loop().call_soon(self.on_close)


def connect(first: Channel, other: Channel) -> None:
    """Connect two channels."""
    for near, far in ((first, other), (other, first)):
        link = Link()
        link.peer, link.on_close = far.receive, far.lose
        near.connection = link


class InProcessWorkers:
    """Starts workers as tasks. refuses: none can be started any more."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.running: list[RunningWorker] = []
        self.started = 0
        self.refuses = False

    async def launch(self, channel: Channel) -> RunningWorker:
        """Start a worker (`kapy.apps.workers.launching.Launch`)."""
        if self.refuses:
            raise FileNotFoundError(2, "No such file or directory")
        self.started += 1
        worker = RunningWorker(channel, self._clock, Random(self.started))
        self.running.append(worker)
        return worker


class RunningWorker:
    def __init__(self, channel: Channel, clock: Clock, random: Random) -> None:
        self._channel = channel
        self.worker = Worker()
        connect(channel, self.worker.channel)
        self._task = asyncio.get_running_loop().create_task(self._run(clock, random))
        self._code: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def _run(self, clock: Clock, random: Random) -> None:
        code = 0
        try:
            await self.worker.work(await self.worker.configuration(), clock, random)
        except* KapyError:
            code = 1
        if not self._code.done():
            self._code.set_result(code)

    def kill(self) -> None:
        """End it: nothing that it sends from now on arrives."""
        for channel in (self.worker.channel, self._channel):
            if isinstance(channel.connection, Link):
                channel.connection.peer = None
        self._task.cancel()
        self._code.set_result(-9)

    async def wait(self) -> int:
        return await asyncio.shield(self._code)

    async def stop(self) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])
