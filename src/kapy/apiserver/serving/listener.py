"""Listeners: serving of an application on this process' sockets."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol

from uvicorn.config import Config
from uvicorn.server import ServerState

from kapy._aio.services import run_services
from kapy.apiserver.serving.acceptor import BACKLOG, Acceptor, bind_sockets, connect
from kapy.apiserver.serving.connection_limit import Connection, ConnectionLimit
from kapy.apiserver.serving.protocol import HTTPProtocol

KEEP_ALIVE = 120
"""Seconds after which an idle connection is closed."""

GRACE = 5.0
"""Seconds that requests in flight get when the listener stops."""


class Application(Protocol):
    """The ASGI 3 application that is served."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Handle one HTTP request."""

    async def stop(self) -> None:
        """End all streams and refuse new requests."""


class Listener:
    """The connections of one Application, from any number of sockets."""

    def __init__(self, application: Application) -> None:
        self.application = application
        self._state = ServerState()
        self._config = _config(application)

    def protocol(self, connection: Connection | None = None) -> HTTPProtocol:
        """Return a new HTTP protocol object for one connection."""
        return HTTPProtocol(self._config, self._state, {}, connection=connection)

    async def stop(self) -> None:
        """End requests and watches in an orderly way (`drain`), then close the connections."""
        await self.drain()
        await self.abort()

    async def drain(self) -> None:
        """Refuse new requests, end watches, and give requests in flight time to finish."""
        await self.application.stop()
        busy = list(self._state.tasks)
        for connection in list(self._state.connections):
            connection.shutdown()
        if busy:
            await asyncio.wait(busy, timeout=GRACE)

    async def abort(self) -> None:
        """Close all connections at once."""
        for connection in list(self._state.connections):
            transport: Any = getattr(connection, "transport", None)
            if transport is not None:
                transport.abort()
        await asyncio.sleep(0)


def _config(application: Any) -> Config:
    config = Config(
        application,
        http=HTTPProtocol,
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=KEEP_ALIVE,
    )
    config.load()
    return config


@contextlib.asynccontextmanager
async def listen(
    application: Application,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    tls: ssl.SSLContext | None = None,
    sock: socket.socket | None = None,
    sockets: Sequence[socket.socket] = (),
    limit: ConnectionLimit | None = None,
) -> Any:
    """Serve an application while the context is open; yields the (host, port).

    Raises OSError if the address is in use. sock: a bound socket, instead of host and port.
    sockets: listening sockets, instead of host and port, which several processes may share. limit:
    the limit of connections, None for the process-wide one.
    """
    listener = Listener(application)
    acceptor = Acceptor(limit)

    async def admit(accepted: socket.socket, connection: Connection) -> None:
        await serve_connection(accepted, tls, listener, connection)

    listening = [_start_listening(item) for item in ((*sockets,) if sock is None else (sock,))]
    listening = listening or await bind_sockets(host, port)
    address = listening[0].getsockname()
    services = {
        f"accept {number}": partial(acceptor.accept, element, admit)
        for number, element in enumerate(listening)
    }
    try:
        async with run_services(**services):
            try:
                yield address[0], address[1]
            finally:
                await listener.drain()  # probes still get answers, and readyz fails
    finally:
        for item in listening:
            item.close()
        await listener.abort()


def _start_listening(sock: socket.socket) -> socket.socket:
    sock.listen(BACKLOG)
    sock.settimeout(0)
    return sock


async def serve_connection(
    sock: socket.socket, tls: ssl.SSLContext | None, listener: Listener, connection: Connection
) -> None:
    """Serve one accepted connection; several servers can share one listening socket.

    Returns when the handshake is done; the connection then lives until either side closes it.
    """
    await connect(sock, connection, lambda: listener.protocol(connection), tls)
