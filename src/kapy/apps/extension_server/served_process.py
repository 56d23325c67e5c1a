"""One of several processes that serve an extension. It gets its connections from the process that
started it (`kapy.apps.extension_server.processes`)."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from kapy._aio.frames import Frames
from kapy._aio.passed_sockets import SocketReceiver
from kapy.apps.extension_server.loading import application_at
from kapy.apps.extension_server.process_config import FAILED, ProcessConfig, certificate_of
from kapy.apps.extension_server.serving import HookProtocol
from kapy.apps.https.certificate import require_clients_of
from kapy.apps.https.serving import serve_connections
from kapy.apps.process_tuning import tuned_process
from kapy.apps.workers.channel import CONFIGURATION, METRICS, READY, Channel
from kapy.apps.workers.logs import log_over
from kapy.apps.workers.metrics import decode_families, metrics_reply
from kapy.hooks.application import Application
from kapy.kube.errors import KapyError, Unreachable
from kapy.kube.http import Reply, Request

if TYPE_CHECKING:
    from prometheus_client.core import Metric

Wait = Callable[[], Awaitable[None]]


class ServedProcess:
    """The program of one process that serves an extension. wait: returns when the process must
    stop.
    """

    def __init__(self, wait: Wait) -> None:
        self._channel = Channel(self._answer, lambda _name, _value: None)
        self._wait = wait
        self._application: Application | None = None

    async def run(self, control: socket.socket, connections: socket.socket) -> int:
        """Serve until it is to stop; return the exit code.

        control: the connection to the process that started this one. connections: the socket over
        which that one passes the connections of clients.
        """
        channel = self._channel
        channel.connection = await Frames.open(control, channel.receive, channel.lose)
        try:
            reply = await channel.ask(CONFIGURATION, Request("GET", "/"))
            assert isinstance(reply.body, bytes)
            config = msgspec.json.decode(reply.body, type=ProcessConfig)
            log_over(channel, config.log_level)
            await self._serve(config, SocketReceiver(connections))
        except KapyError as error:
            channel.notify(FAILED, str(error))
            return 1
        finally:
            channel.end()
        return 0

    async def _serve(self, config: ProcessConfig, source: SocketReceiver) -> None:
        application = self._application = application_at(config.target)
        application.complete_metrics = self._metrics_of_all
        async with AsyncExitStack() as stack:
            stack.enter_context(tuned_process())
            certificate = await certificate_of(config, stack, follows=True)
            if config.client_ca:
                require_clients_of(Path(config.client_ca), certificate)
            await stack.enter_async_context(
                serve_connections(application, certificate, source, protocol=HookProtocol)
            )
            handlers = [
                f"{route.hook.name}: {route.name}" for route in application.extension.routes
            ]
            self._channel.notify(READY, handlers)
            await self._wait()

    async def _answer(self, target: str, request: Request) -> Reply:
        del request
        if target == METRICS and self._application is not None:
            return metrics_reply(self._application.collect())
        raise Unreachable(f"a process of an extension answers nothing to {target}")

    async def _metrics_of_all(self) -> Iterable[Metric]:
        try:
            reply = await self._channel.ask(METRICS, Request("GET", "/"))
        except Unreachable:  # the process that started this one has ended, and this one stops
            assert self._application is not None
            return self._application.collect()
        assert isinstance(reply.body, bytes)
        return decode_families(reply.body)
