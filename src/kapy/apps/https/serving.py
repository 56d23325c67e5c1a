"""Serves an ASGI application over HTTPS with a renewed certificate until it is stopped."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final, Protocol

from uvicorn import Config, Server

from kapy._aio.asgi import Receive, Scope, Send
from kapy.apiserver.serving.acceptor import BACKLOG, Acceptor, connect
from kapy.apiserver.serving.connection_limit import Connection
from kapy.apiserver.serving.protocol import HTTPProtocol
from kapy.apps.https.certificate import Certificate, require_clients_of
from kapy.kube.errors import KapyError

GRACE_SECONDS: Final = 30
"""How long calls that are under way may take when the server stops: no call may take longer."""


Protocols = type[asyncio.Protocol]


class NoAddress(KapyError):
    """The server cannot listen on the address."""


class Application(Protocol):
    """An ASGI application that is served over HTTPS: extensions, webhooks, diagnostics. ready:
    whether `/readyz` succeeds.
    """

    ready: bool

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The ASGI 3 entry point."""


class Source(Protocol):
    """A source of connections: a listening socket, or another process that passes them."""

    async def accept(self) -> tuple[socket.socket, Any]:
        """Wait for a connection; return its socket and the address of its peer. Raises OSError."""

    def close(self) -> None:
        """Accept no more connections."""


class Listener:
    """A listening socket as a `Source` of connections."""

    def __init__(self, listening: socket.socket) -> None:
        self.socket = listening

    @classmethod
    def bind(cls, host: str, port: int, flags: str) -> Listener:
        """Listen on an address. flags: the flags that select another one, for errors.

        Raises NoAddress.
        """
        return cls(_bind(host, port, flags))

    @property
    def address(self) -> tuple[str, int]:
        """The host and the port."""
        host, port = self.socket.getsockname()[:2]
        return host, port

    async def accept(self) -> tuple[socket.socket, Any]:
        """Wait for a connection; return its socket and the address of its peer. Raises OSError."""
        return await asyncio.get_running_loop().sock_accept(self.socket)

    def close(self) -> None:
        """Close the socket, so that new connections are refused."""
        self.socket.close()


@asynccontextmanager
async def serve(
    application: Application,
    certificate: Certificate,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    client_ca: Path | None = None,
    protocol: Protocols = HTTPProtocol,
    flags: str = "--host and --port",
) -> AsyncIterator[tuple[str, int]]:
    """Serve while the context is open; yields the host and the port.

    client_ca: CAs in PEM; clients without a certificate of them are rejected, probes included.
    protocol: the HTTP protocol. flags: the flags that select another address, for errors. Raises
    NoAddress, NoCertificate. At the end /readyz fails, calls under way finish, and new connections
    are refused.
    """
    if client_ca is not None:
        require_clients_of(client_ca, certificate)
    listener = Listener.bind(host, port, flags)
    async with serve_connections(application, certificate, listener, protocol=protocol):
        yield listener.address


@asynccontextmanager
async def serve_connections(
    application: Application,
    certificate: Certificate,
    source: Source,
    *,
    protocol: Protocols = HTTPProtocol,
) -> AsyncIterator[None]:
    """Serve the connections that a source passes on, and close it at the end."""
    server = _Server(_config(application, certificate, protocol))
    async with asyncio.TaskGroup() as group:
        renewal = group.create_task(certificate.keep())
        served = group.create_task(server.serve(sockets=[]))
        accepting = group.create_task(server.accept(source))
        try:
            await server.accepts.wait()
            yield
        finally:
            application.ready = False
            accepting.cancel()
            source.close()
            server.should_exit = True
            await asyncio.wait([served])
            renewal.cancel()


class _Server(Server):
    """A server whose owner handles signals and accepts connections; it reports when it is ready."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.accepts = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def accept(self, source: Source) -> None:
        """Accept connections until cancelled."""
        await self.accepts.wait()
        await Acceptor().accept_from(source.accept, self.admit)

    async def admit(self, sock: socket.socket, connection: Connection) -> None:
        """Serve an accepted socket."""
        await connect(sock, connection, self._protocol, self.config.ssl)

    def _protocol(self) -> asyncio.Protocol:
        result: asyncio.Protocol = self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return result

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.accepts.set()


def _config(application: Application, certificate: Certificate, protocol: Protocols) -> Config:
    config = Config(
        application,
        http=protocol,
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=120,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    config.load()
    config.ssl = certificate.context
    return config


def _bind(host: str, port: int, flags: str) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends without delay only on sockets that say they are TCP.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
        bound.listen(BACKLOG)
        bound.settimeout(0)
        return bound
    except OSError as error:
        bound.close()
        raise NoAddress(
            f"cannot listen on {host} port {port}: {error.strerror or error}; choose another one "
            f"with {flags}"
        ) from None
