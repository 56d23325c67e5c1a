"""The API processes of a plane: started, watched, and started again when they end.

They accept connections from the plane's listening sockets, which stay open while a process starts
again. The plane itself accepts none there: its event loop belongs to writes and to controllers.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING, Any, Final

from kapy._aio.child_process import ChildProcess
from kapy._aio.frames import Frames
from kapy._aio.services import run_services, run_together
from kapy.apiserver.server import Server
from kapy.apiserver.serving import Application
from kapy.apiserver.serving.acceptor import bind_sockets
from kapy.apiserver.serving.forwarded_requests import ForwardedRequests
from kapy.apiserver.serving.forwarding_messages import ForwardedMessage
from kapy.apiserver.serving.listener import GRACE
from kapy.apiserver.store.replica import ReplicaFeed, ReplicaMessage, SharedRevision
from kapy.apps.api_processes.configuration import (
    AUDITED,
    CONFIGURATION,
    LISTENING,
    REPLICATE,
    SHUTDOWN,
    STOP,
    ApiProcessConfig,
    encode,
)
from kapy.apps.pidfile import WorkerRecord
from kapy.apps.start_waits import wait_with_limit
from kapy.apps.workers.channel import LOG, Channel
from kapy.apps.workers.launching import start_connected
from kapy.apps.workers.logs import write_log
from kapy.apps.workers.metrics import merge_metrics
from kapy.apps.workers.pool import FIRST_BACKOFF, MAX_BACKOFF, STABLE_AFTER
from kapy.engine.reflector import Backoff
from kapy.kube.errors import Unreachable
from kapy.kube.http import Reply, Request

if TYPE_CHECKING:
    from prometheus_client.core import Metric

COMMAND: Final = (sys.executable, "-m", "kapy.cli.api_process")
BACKLOG: Final = 64 * 1024 * 1024
"""The most bytes that wait for a process that does not read. One that is slower is ended: it starts
again with the content of the store."""
RESPONSES: Final = 8 * 1024 * 1024
"""The bytes that wait for a process from which on responses to its clients wait, too."""
STOP_SECONDS: Final = GRACE + 2.0
"""Seconds that the processes have to stop: those of their requests in flight, and some."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSettings:
    """The settings that the API processes of a plane share. application: answers the requests that
    the processes forward. configurations: one configuration for each process. handles: the file
    descriptors that every process gets.
    """

    server: Server
    application: Application
    feed: ReplicaFeed
    configurations: Sequence[ApiProcessConfig]
    handles: Sequence[int]
    random: Random


class ApiProcesses:
    """The pool of processes that serve the API server of a plane. changed: callbacks for a change
    of the record of a process. address: the address of the API server.
    """

    def __init__(self, settings: PoolSettings, address: tuple[str, int]) -> None:
        self.address = address
        self.changed: list[Callable[[], None]] = []
        self._processes = [
            _Process(config, settings, self._report) for config in settings.configurations
        ]

    @property
    def records(self) -> tuple[WorkerRecord, ...]:
        """The state of each process."""
        return tuple(process.record for process in self._processes)

    async def run(self) -> None:
        """Run the processes until cancelled; then they end."""
        await run_together(**{process.record.name: process.run for process in self._processes})

    async def wait_until_ready(self) -> None:
        """Wait until all processes accept connections. Raises NotStarted."""

        def starting() -> int:
            return sum(not process.is_ready.is_set() for process in self._processes)

        async with wait_with_limit("the processes of the API server", remaining=starting):
            for process in self._processes:
                await process.is_ready.wait()

    def announce_shutdown(self) -> None:
        """Tell the processes that the shutdown of the server begins."""
        for process in self._processes:
            process.notify(SHUTDOWN)

    async def stop(self) -> None:
        """Let the processes end their watches and answer the requests in flight, then end."""
        with suppress(TimeoutError):
            async with asyncio.timeout(STOP_SECONDS):
                await asyncio.gather(*(process.stop() for process in self._processes))

    async def with_metrics(self, families: list[Metric]) -> list[Metric]:
        """Return metric families with the samples of the processes in them."""
        running = [
            (process.record.name, process.channel)
            for process in self._processes
            if process.channel is not None
        ]
        return await merge_metrics(families, running)

    def _report(self) -> None:
        for item in tuple(self.changed):
            item()


class _Process:
    """A process that serves the API server, and is started again when it ends. channel: the
    connection to the process, None while it does not run. is_ready: set when the process has
    accepted connections for the first time.
    """

    def __init__(
        self, config: ApiProcessConfig, settings: PoolSettings, report: Callable[[], None]
    ) -> None:
        self.record = WorkerRecord(config.name)
        self.channel: Channel | None = None
        self.is_ready = asyncio.Event()
        self._config = config
        self._settings = settings
        self._report = report
        self._backoff = Backoff(settings.random, first=FIRST_BACKOFF, longest=MAX_BACKOFF)
        self._is_stopping = False
        self._has_ended = asyncio.Event()

    async def run(self) -> None:
        """Start the process, and again whenever it has ended."""
        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            self._has_ended.clear()
            reason = await self._run_process()
            self._has_ended.set()
            if self._is_stopping:
                await asyncio.Event().wait()  # until this is cancelled
            if loop.time() - began > STABLE_AFTER:
                self._backoff.reset()
            seconds = self._backoff.next()
            log.error("%s %s; it starts again in %.1f s", self.record.name, reason, seconds)
            self._change(restarts=self.record.restarts + 1)
            # A timer: what makes a process die is nothing that can be watched.
            await asyncio.sleep(seconds)

    async def stop(self) -> None:
        """Ask the process to end, and wait for that."""
        self._is_stopping = True
        if self.channel is not None:
            self.notify(STOP)
            await self._has_ended.wait()

    def notify(self, name: str) -> None:
        """Send a notice to the process, if it runs."""
        if self.channel is not None:
            self.channel.notify(name, 0)

    async def _run_process(self) -> str:
        """Run the process until it ends; return how."""
        link = _Link(self._config, self._settings, self._take_notice)
        try:
            launched, link.frames = await start_connected(
                COMMAND, link.receive, link.lose, self._settings.handles
            )
        except OSError as error:
            return f"cannot be started: {error.strerror or error}"
        link.channel.connection = link.frames
        self.channel = link.channel
        self._change(state="starting")
        try:
            async with asyncio.TaskGroup() as group:
                watching = group.create_task(_stop_if_slow(launched, link))
                code = await launched.wait()
                watching.cancel()
        finally:
            self.channel = None
            self._change(state="stopped", pid=0)
            await launched.stop()
            link.end()
        if link.is_slow.is_set():
            return f"was ended: more than {BACKLOG} bytes waited for it"
        return f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"

    def _take_notice(self, name: str, value: Any) -> None:
        if name == LISTENING:
            self._change(state="running", pid=value)
            self.is_ready.set()
            log.info("%s runs (process %d)", self.record.name, value)
        elif name == LOG:
            write_log(self.record.name, value)
        elif name == AUDITED and self._settings.server.audit is not None:
            self._settings.server.audit.put_line(value.encode())

    def _change(self, **changes: Any) -> None:
        self.record = replace(self.record, **changes)
        self._report()


async def _stop_if_slow(launched: ChildProcess, link: _Link) -> None:
    await link.is_slow.wait()
    await launched.stop()


class _Link:
    """The plane's end of the connection to one API process. is_slow: set when too much data waits
    to be sent.
    """

    def __init__(
        self,
        config: ApiProcessConfig,
        settings: PoolSettings,
        notice: Callable[[str, Any], None],
    ) -> None:
        self.frames: Frames | None = None
        self.channel = Channel(self._answer, self._take_notice)
        self.is_slow = asyncio.Event()
        self._config = config
        self._feed = settings.feed
        self._notice = notice
        self._requests = ForwardedRequests(settings.application, self._send, self._wait_for_room)
        self._copying: asyncio.Task[None] | None = None

    def receive(self, kind: int, number: int, content: bytes) -> None:
        """Handle a message of the process."""
        if kind >= ForwardedMessage.REQUEST:
            self._requests.receive(kind, number, content)
        elif kind != ReplicaMessage.HURRY:
            self.channel.receive(kind, number, content)
        elif self.frames is not None:
            self.frames.flush()

    def lose(self) -> None:
        """Handle the end of the connection."""
        self.channel.lose()
        self._requests.lose()
        self._feed.remove(self._replicate)

    def end(self) -> None:
        """Close the connection to the process."""
        if self._copying is not None:
            self._copying.cancel()
        if self.frames is not None:
            self.frames.abort()
            self.frames = None
        self.lose()

    async def _answer(self, target: str, request: Request) -> Reply:
        del request
        if target == CONFIGURATION:
            return Reply(200, encode(self._config))
        raise Unreachable(f"a plane answers nothing to {target}")

    def _take_notice(self, name: str, value: Any) -> None:
        if name == REPLICATE:
            copying = self._feed.add(self._replicate, self._drain)
            self._copying = asyncio.get_running_loop().create_task(copying)
        else:
            self._notice(name, value)

    def _replicate(self, kind: int, content: bytes) -> None:
        """Send a message to the replica; a write goes with the next response, or with others."""
        frames = self.frames
        if frames is not None and kind == ReplicaMessage.WRITE and not self.is_slow.is_set():
            frames.send_later(kind, 0, content)
            self._check_backlog(frames)
        else:
            self._send(kind, 0, content)

    def _send(self, kind: int, number: int, content: bytes) -> None:
        frames = self.frames
        if frames is not None and not self.is_slow.is_set():
            frames.send(kind, number, content)
            self._check_backlog(frames)

    def _check_backlog(self, frames: Frames) -> None:
        if frames.backlog > BACKLOG:
            self.is_slow.set()
            self._feed.remove(self._replicate)

    async def _drain(self) -> None:
        if self.frames is not None:
            await self.frames.drain()

    async def _wait_for_room(self) -> None:
        if self.frames is not None:
            await self.frames.wait_for_room(RESPONSES)


@asynccontextmanager
async def api_processes(
    server: Server,
    application: Application,
    configurations: Sequence[ApiProcessConfig],
    *,
    host: str,
    port: int,
    random: Random,
) -> AsyncIterator[ApiProcesses]:
    """Serve an API server by other processes while the context is open.

    Raises OSError if the address is in use, and NotStarted.
    """
    sockets = await bind_sockets(host, port)
    committed = SharedRevision.create()
    feed = ReplicaFeed(server.store, committed)
    settings = PoolSettings(
        server=server,
        application=application,
        feed=feed,
        configurations=configurations,
        handles=(committed.handle, *(sock.fileno() for sock in sockets)),
        random=random,
    )
    address = sockets[0].getsockname()
    processes = ApiProcesses(settings, (address[0], address[1]))
    announce = processes.announce_shutdown
    server.health.shutdown_callbacks.append(announce)
    try:
        async with run_services(api=processes.run):
            await processes.wait_until_ready()
            try:
                yield processes
            finally:
                await application.stop()
                await processes.stop()
    finally:
        server.health.shutdown_callbacks.remove(announce)
        feed.close()
        committed.close()
        for sock in sockets:
            sock.close()
