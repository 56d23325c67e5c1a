"""An API process: serves the plane's API server from a replica of its store.

It has neither a key that signs tokens nor a file of the store. It forwards requests that it may not
answer itself to the plane over a socket pair, which nobody else can reach.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Final

from kapy._aio.clock import Clock, system_clock
from kapy._aio.frames import Frames
from kapy._aio.services import run_services
from kapy.api.kinds import BY_GROUP_KIND
from kapy.apiserver.auth.authentication import Authenticator
from kapy.apiserver.request.limits.max_in_flight import Limits
from kapy.apiserver.resources.kind import Kind
from kapy.apiserver.server import Server
from kapy.apiserver.serving import listen, server_context
from kapy.apiserver.serving.connection_limit import ConnectionLimit
from kapy.apiserver.serving.forwarder import Forwarder
from kapy.apiserver.serving.forwarding_messages import ForwardedMessage
from kapy.apiserver.serving.replica_application import ReplicaApplication
from kapy.apiserver.store.replica import ReplicaMessage, ReplicaStore, SharedRevision
from kapy.apps.api_processes.configuration import (
    AUDITED,
    CONFIGURATION,
    LISTENING,
    REPLICATE,
    SHUTDOWN,
    STOP,
    ApiProcessConfig,
    decode,
)
from kapy.apps.conversion import convert_documents
from kapy.apps.process_tuning import tuned_process
from kapy.apps.workers.channel import METRICS, Channel
from kapy.apps.workers.logs import log_over
from kapy.apps.workers.metrics import metrics_reply
from kapy.engine.idle_packing import pack_idle_objects
from kapy.kube.errors import KapyError, Unreachable
from kapy.kube.http import Reply, Request
from kapy.kube.names import GroupKind

if TYPE_CHECKING:
    from prometheus_client.core import Metric

log = logging.getLogger(__name__)

MOST_HANDLES: Final = 16
"""The most file descriptors that the plane sends: the shared revision, and listening sockets."""
_OF_REPLICA: Final = (ReplicaMessage.ROWS, ReplicaMessage.COMPLETE, ReplicaMessage.WRITE)
_OWN_METRICS: Final = ("apiserver_request", "apiserver_response", "apiserver_watch_events")
_MORE_METRICS: Final = frozenset(
    (
        "apiserver_current_inflight_requests",
        "apiserver_longrunning_requests",
        "apiserver_terminated_watchers",
    )
)


class ApiProcess:
    """The program of one API process. server: the API server that answers reads, None before the
    start.
    """

    def __init__(self, committed: SharedRevision) -> None:
        self.store = ReplicaStore(committed, self._hurry)
        self.channel = Channel(self._answer, self._take_notice)
        self.forwarder = Forwarder(self._send, self._drain)
        self.server: Server | None = None
        self._frames: Frames | None = None
        self._stop = asyncio.Event()

    async def run(self, end: socket.socket, sockets: list[socket.socket]) -> int:
        """Serve until the plane says so, or has ended; return the exit code."""
        channel = self.channel
        self._frames = channel.connection = await Frames.open(end, self.receive, self._lose)
        try:
            config = await self.configuration()
            log_over(channel, config.log_level)
            with tuned_process():
                await self._serve(config, sockets)
        except KapyError as error:
            log.error("%s", error)
            return 1
        except Exception as error:
            log.error("%s", error, exc_info=error)
            return 1
        finally:
            channel.end()
        return 0

    async def configuration(self) -> ApiProcessConfig:
        """Request the configuration of this process from the plane. Raises Unreachable."""
        reply = await self.channel.ask(CONFIGURATION, Request("GET", "/"))
        assert isinstance(reply.body, bytes)
        return decode(reply.body)

    async def load(self, config: ApiProcessConfig, clock: Clock) -> ReplicaApplication:
        """Copy the content of the store from the plane; return the application that serves it.
        Raises Unreachable.
        """
        self.channel.notify(REPLICATE, 0)
        await self.store.complete.wait()
        if self._stop.is_set():
            raise Unreachable("the plane has ended the connection before its content was here")
        server = self.server = Server.on_replica(
            self.store,
            clock=clock,
            convert=convert_documents,
            limits=Limits(reading=config.reading),
        )
        server.access.tokens.verify_with(config.token_key)
        if config.is_audited:
            _audit(server, config, self.channel, self._backlog, clock)
        return ReplicaApplication(
            server,
            self.store,
            Authenticator(config.tokens),
            self.forwarder,
            converts=_is_converted_here,
            forwarded_groups=config.forwarded_groups,
            forwarded_users=config.forwarded_users,
        )

    async def _serve(self, config: ApiProcessConfig, sockets: list[socket.socket]) -> None:
        application = await self.load(config, system_clock)
        assert self.server is not None
        tls = server_context(config.certificate, config.key, config.client_ca)
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(
                run_services(server=self.server.run_replica, packing=self._pack)
            )
            limit = ConnectionLimit(config.connections)
            await stack.enter_async_context(
                listen(application, tls=tls, sockets=sockets, limit=limit)
            )
            self.channel.notify(LISTENING, os.getpid())
            await self._stop.wait()
            self.server.health.begin_shutdown()

    async def _pack(self) -> None:
        await pack_idle_objects(self.store.pack_idle)

    def receive(self, kind: int, number: int, content: bytes) -> None:
        """Handle a message of the plane."""
        if kind in _OF_REPLICA:
            self.store.receive(kind, content)
        elif kind >= ForwardedMessage.REQUEST:
            self.forwarder.receive(kind, number, content)
        else:
            self.channel.receive(kind, number, content)

    def _lose(self) -> None:
        self.channel.lose()
        self.forwarder.lose()
        self.store.complete.set()
        self._stop.set()

    def _send(self, kind: int, number: int, content: bytes) -> None:
        if self._frames is not None:
            self._frames.send(kind, number, content)

    def _hurry(self) -> None:
        self._send(ReplicaMessage.HURRY, 0, b"")

    async def _drain(self) -> None:
        if self._frames is not None:
            await self._frames.drain()

    def _backlog(self) -> int:
        return 0 if self._frames is None else self._frames.backlog

    async def _answer(self, target: str, request: Request) -> Reply:
        del request
        if target == METRICS and self.server is not None:
            return metrics_reply(_metrics(self.server))
        raise Unreachable(f"an API process answers nothing to {target}")

    def _take_notice(self, name: str, value: Any) -> None:
        del value
        if name == STOP:
            self._stop.set()
        elif name == SHUTDOWN and self.server is not None:
            self.server.health.begin_shutdown()


def _is_converted_here(kind: Kind) -> bool:
    resource = kind.resource
    return GroupKind(resource.group, resource.kind) in BY_GROUP_KIND


def _metrics(server: Server) -> Iterator[Metric]:
    """Yield the metrics of this process; the plane reports those of the store."""
    from prometheus_client import ProcessCollector

    families: Iterable[Metric] = server.families.collect()
    for family in families:
        if family.name.startswith(_OWN_METRICS) or family.name in _MORE_METRICS:
            yield family
    yield from ProcessCollector(registry=None).collect()


def _audit(
    server: Server,
    config: ApiProcessConfig,
    channel: Channel,
    backlog: Callable[[], int],
    clock: Clock,
) -> None:
    """Send the audit events of a server to the plane."""
    from kapy.apiserver.audit.auditor import Auditor
    from kapy.apiserver.audit.policy import EVERYTHING, parse_policy
    from kapy.kube import yaml

    policy = parse_policy(yaml.load(config.audit_policy)) if config.audit_policy else EVERYTHING
    counts = server.context.metrics.audit
    lines = _AuditLines(channel, backlog)
    server.audit = Auditor(policy, lines, clock=clock, counts=counts, rng=server.context.rng)


class _AuditLines:
    """Sends the lines of the audit log to the plane, which writes the log."""

    def __init__(self, channel: Channel, backlog: Callable[[], int]) -> None:
        self._channel = channel
        self._backlog = backlog

    def put(self, line: bytes) -> bool:
        """Send a line; return False, and drop it, if the plane does not read."""
        from kapy.apiserver.audit.log import BYTES

        if self._backlog() > BYTES:
            return False
        self._channel.notify(AUDITED, line.decode())
        return True

    async def run(self) -> None:
        """Wait until cancelled: `put` sends each line at once."""
        await asyncio.Event().wait()
