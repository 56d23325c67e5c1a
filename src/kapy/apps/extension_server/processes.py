"""Serves an extension from several processes at one port, for more than one core.

This process accepts all connections, and passes each one to the next process: a kept connection
stays with its process, and all processes get the same number of new ones. It imports nothing of
the extension. A process that dies is started again with a growing back-off; meanwhile the others
get all connections. The processes end with this one, even if it is killed.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

from kapy._aio.child_process import ChildProcess
from kapy._aio.frames import Frames
from kapy._aio.passed_sockets import SocketSender
from kapy._aio.services import run_services, run_together
from kapy.apps.extension_server.process_config import FAILED, ProcessConfig, certificate_of
from kapy.apps.https.certificate import Certificate
from kapy.apps.https.serving import GRACE_SECONDS, Listener, Source
from kapy.apps.workers.channel import CONFIGURATION, LOG, METRICS, READY, Channel
from kapy.apps.workers.logs import write_log
from kapy.apps.workers.metrics import merge_metrics, metrics_reply
from kapy.engine.reflector import Backoff
from kapy.kube.errors import KapyError, Unreachable
from kapy.kube.http import Reply, Request
from kapy.kube.prometheus import counter

if TYPE_CHECKING:
    from prometheus_client.core import Metric

FIRST_BACKOFF: Final = 0.5
MAX_BACKOFF: Final = 30.0
"""Seconds before a process that died is started again, at first and at last."""
STABLE_AFTER: Final = 60.0
"""Seconds of a run after which the back-off is reset."""
START_TIMEOUT: Final = 60.0
"""Seconds that a process may take until it serves."""
STOP_SECONDS: Final = GRACE_SECONDS + 5.0
"""Seconds that a process has to finish its calls when it is stopped."""
PASS_PAUSE: Final = 0.1
"""Seconds after which a connection is offered again that no process has taken. A timer, because the
kernel does not tell when it has room for one more."""

LAST_WORDS_SECONDS: Final = 1.0
"""Seconds for which the log of a process that has ended is read: processes that it started may keep
the connection open."""

_Ready: TypeAlias = "asyncio.Future[Sequence[str] | NotServed]"
"""The handlers of a process that serves, or the reason for which it cannot."""

_log = logging.getLogger(__name__)


class NotServed(KapyError):
    """A process of an extension cannot serve it; the message has the reason."""


@dataclass(frozen=True, slots=True)
class ServedExtension:
    """A runtime extension that is served by processes of this program.

    handlers: the handlers of the extension, each as `hook: name`. certificate: the server
    certificate of the processes, which this process renews.
    """

    handlers: Sequence[str]
    certificate: Certificate
    port: int


class ServingProcesses:
    """The processes that serve one extension."""

    def __init__(self, config: ProcessConfig, count: int, random: Random) -> None:
        self._config = config
        self._restarts: Counter[str] = Counter()
        self._changed = asyncio.Event()
        self._processes = [_Process(str(number), self, random) for number in range(1, count + 1)]
        self._turn = 0

    @property
    def handlers(self) -> Sequence[str]:
        """The handlers of the extension, each as `hook: name`."""
        return self._processes[0].handlers

    async def start(self) -> None:
        """Start all processes, and wait until they serve. Raises NotServed."""
        # All are waited for, because a process whose start is cancelled would be left to itself.
        starts = [process.start() for process in self._processes]
        results = await asyncio.gather(*starts, return_exceptions=True)
        failures = [result for result in results if isinstance(result, BaseException)]
        if failures:
            async with asyncio.TaskGroup() as group:
                for process in self._processes:
                    group.create_task(process.stop())
            raise failures[0]

    async def run(self) -> None:
        """Start processes again that have ended, until cancelled; then stop all, when they have
        answered the calls under way."""
        await run_together(**{process.name: process.run for process in self._processes})

    async def pass_connections(self, source: Source) -> None:
        """Accept connections and pass them to the processes, until cancelled."""
        while True:
            try:
                accepted, _ = await source.accept()
            except OSError as error:
                _log.debug("a connection is not accepted: %s", error)
                await asyncio.sleep(PASS_PAUSE)
                continue
            try:
                await self._pass_connection(accepted)
            except BaseException:
                accepted.close()
                raise

    async def answer(self, target: str, request: Request) -> Reply:
        """Answer the request of a process."""
        del request
        if target == CONFIGURATION:
            return Reply(200, msgspec.json.encode(self._config))
        if target == METRICS:
            channels = [(item.name, item.channel) for item in self._processes if item.channel]
            return metrics_reply(await merge_metrics(self._collect(), channels))
        raise Unreachable(f"nothing is answered to {target}")

    def count_restart(self, name: str) -> None:
        """Count the end of a process that is started again."""
        self._restarts[name] += 1

    def on_free(self) -> None:
        """Handle that a process may take connections again."""
        self._changed.set()

    def on_untaken(self, connections: Sequence[socket.socket]) -> None:
        """Pass the connections that a process has not taken before its end to the others."""
        for connection in connections:
            if not any(sender.send(connection) for sender in self._senders()):
                connection.close()

    async def _pass_connection(self, connection: socket.socket) -> None:
        while not any(sender.send(connection) for sender in self._senders()):
            self._changed.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(PASS_PAUSE):
                    await self._changed.wait()

    def _senders(self) -> Iterable[SocketSender]:
        """Return the senders to all processes that serve: those with the fewest waiting connections
        first, and equal ones in turn.
        """
        self._turn += 1
        begin = self._turn % len(self._processes)
        in_turn = (*self._processes[begin:], *self._processes[:begin])
        senders = [item.sender for item in in_turn if item.sender is not None]
        return sorted(senders, key=lambda sender: sender.pending)

    def _collect(self) -> Iterable[Metric]:
        yield counter(
            "kapy_extension_process_restarts_total",
            "Processes of the extension that ended and were started again.",
            ["process"],
            [((process.name,), self._restarts[process.name]) for process in self._processes],
        )


class _Process:
    """One of the processes that serve an extension. sender: passes connections to the process.
    channel: the connection to the process. Both are None while the process does not serve.
    handlers: the handlers of the extension, each as `hook: name`.
    """

    def __init__(self, name: str, owner: ServingProcesses, random: Random) -> None:
        self.name = name
        self.handlers: Sequence[str] = ()
        self.channel: Channel | None = None
        self.sender: SocketSender | None = None
        self._owner = owner
        self._backoff = Backoff(random, first=FIRST_BACKOFF, longest=MAX_BACKOFF)
        self._process: ChildProcess | None = None

    async def start(self) -> None:
        """Start the process, and wait until it serves. Raises NotServed."""
        ready: _Ready = asyncio.get_running_loop().create_future()
        channel = Channel(self._owner.answer, self._notices(ready))
        sender: SocketSender | None = None
        try:
            sender = await self._launch(channel)
            self.handlers = await self._wait_until_ready(channel, ready)
            self.channel, self.sender = channel, sender
        except BaseException:
            await self._end(channel, sender)
            raise
        self._owner.on_free()

    async def run(self) -> None:
        """Start the process again whenever it ends; stop it when cancelled."""
        loop = asyncio.get_running_loop()
        try:
            while True:
                began = loop.time()
                reason = await self._wait_for_end()
                if loop.time() - began > STABLE_AFTER:
                    self._backoff.reset()
                await self._restart_later(reason)
        finally:
            await self.stop()

    async def stop(self) -> None:
        """Stop the process, which finishes its calls."""
        await self._end(self.channel, self.sender)

    async def _restart_later(self, reason: str) -> None:
        seconds = self._backoff.next()
        _log.error("process %s %s; it starts again in %.1f s", self.name, reason, seconds)
        self._owner.count_restart(self.name)
        # A timer, because the cause of the end cannot be watched.
        await asyncio.sleep(seconds)
        try:
            await self.start()
        except NotServed as error:
            _log.error("%s", error)

    async def _launch(self, channel: Channel) -> SocketSender:
        """Start the process; return the sender that passes connections to it. Raises NotServed."""
        here, there = socket.socketpair()
        passing, taking = socket.socketpair()
        command = (sys.executable, "-m", "kapy.cli.extension_process", str(taking.fileno()))
        try:
            with there, taking:
                self._process = await ChildProcess.start(
                    command,
                    stdin=there.fileno(),
                    descriptors=[taking.fileno()],
                    patience=STOP_SECONDS,
                )
            channel.connection = await Frames.open(here, channel.receive, channel.lose)
        except BaseException as error:
            here.close()
            passing.close()
            if isinstance(error, OSError):
                reason = error.strerror or error
                raise NotServed(f"process {self.name} cannot be started: {reason}") from None
            raise
        return SocketSender(passing, self._owner.on_free, self._owner.on_untaken)

    async def _wait_until_ready(self, channel: Channel, ready: _Ready) -> Sequence[str]:
        """Wait until the process serves; return the handlers of the extension. Raises NotServed."""
        assert self._process is not None
        try:
            async with asyncio.timeout(START_TIMEOUT), asyncio.TaskGroup() as group:
                closed = group.create_task(channel.closed.wait())
                await asyncio.wait((ready, closed), return_when=asyncio.FIRST_COMPLETED)
                closed.cancel()
        except TimeoutError:
            reason = f"does not serve after {START_TIMEOUT:.0f} s"
            raise NotServed(f"process {self.name} {reason}") from None
        if not ready.done():
            reason = _end_reason(await self._process.wait())
            raise NotServed(f"process {self.name} {reason} before it served; it says why above")
        result = ready.result()
        if isinstance(result, NotServed):
            raise result
        return result

    def _notices(self, ready: _Ready) -> Callable[[str, Any], None]:
        def take(name: str, value: Any) -> None:
            if name == LOG:
                write_log(f"process {self.name}", value)
            elif ready.done():
                return
            elif name == READY:
                ready.set_result(value)
            elif name == FAILED:
                ready.set_result(NotServed(value))

        return take

    async def _wait_for_end(self) -> str:
        """Wait for the end of the process; return a sentence about it."""
        assert self._process is not None
        code = await self._process.wait()
        await self.stop()
        return _end_reason(code)

    async def _end(self, channel: Channel | None, sender: SocketSender | None) -> None:
        """Pass it no more connections, and stop it."""
        self.channel = self.sender = None
        if sender is not None:
            sender.close()
        try:
            if self._process is not None:
                await self._process.stop()
            if channel is not None:  # what it logged last
                with suppress(TimeoutError):
                    async with asyncio.timeout(LAST_WORDS_SECONDS):
                        await channel.closed.wait()
        finally:
            if channel is not None:
                channel.end()


def _end_reason(code: int) -> str:
    return f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"


@asynccontextmanager
async def serve_in_processes(
    config: ProcessConfig, count: int, *, host: str, port: int, random: Random
) -> AsyncIterator[ServedExtension]:
    """Serve an extension from `count` processes while the context is open.

    At the end new connections are refused, and calls under way finish. Raises NoAddress,
    NoCertificate, NotServed.
    """
    async with AsyncExitStack() as stack:
        certificate = await certificate_of(config, stack)
        listener = Listener.bind(host, port, "--host and --port")
        stack.callback(listener.close)
        processes = ServingProcesses(config, count, random)
        await processes.start()
        await stack.enter_async_context(run_services(processes=processes.run))
        passing = partial(processes.pass_connections, listener)
        await stack.enter_async_context(run_services(accept=passing, certificate=certificate.keep))
        stack.callback(listener.close)
        yield ServedExtension(processes.handlers, certificate, listener.address[1])
