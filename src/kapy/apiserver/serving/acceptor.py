"""Accepting connections up to a limit, with errors isolated to one connection."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import ssl
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, NoReturn

from kapy.apiserver.serving.connection_limit import (
    TELL_SECONDS,
    Connection,
    ConnectionLimit,
    process_limit,
)

_log = logging.getLogger(__name__)

BACKLOG: Final = 1024
"""The backlog: connections that the kernel queues until they are accepted."""
HANDSHAKE_SECONDS: Final = 10.0
"""The timeout of a TLS handshake."""
PAUSE_SECONDS: Final = 0.1
"""The pause in accepting when the system has no free file descriptor; nothing signals that one is
free again.
"""
_EXHAUSTED: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})

Admit = Callable[[socket.socket, Connection], Awaitable[None]]
"""Creates a connection from an accepted socket; returns when the handshake is done."""
Accept = Callable[[], Awaitable[tuple[socket.socket, Any]]]
"""Waits for a connection; returns its socket and the address of its peer. Raises OSError."""


class _AcceptedSocket(socket.socket):
    """A socket that tells its Connection when it is closed."""

    connection: Connection | None = None

    def close(self) -> None:
        connection, self.connection = self.connection, None
        if connection is not None:
            connection.on_closed()
        super().close()


class Acceptor:
    """The loop that accepts connections. limit: the connection limit, None for the process-wide
    one.
    """

    def __init__(self, limit: ConnectionLimit | None = None) -> None:
        self.limit = limit or process_limit()
        self._told = float("-inf")

    async def accept(self, listening: socket.socket, admit: Admit) -> NoReturn:
        """Accept connections until cancelled; existing connections stay open."""
        accept = partial(asyncio.get_running_loop().sock_accept, listening)
        await self.accept_from(accept, admit)

    async def accept_from(self, accept: Accept, admit: Admit) -> NoReturn:
        """Accept connections of a source until cancelled; existing connections stay open."""
        async with asyncio.TaskGroup() as group:
            while True:
                try:
                    accepted, address = await accept()
                except OSError as error:
                    await self._wait_out(error)
                    continue
                source = str(address[0]) if isinstance(address, tuple) else ""
                connection = self.limit.add(source)
                if connection is None:
                    accepted.close()
                    continue
                sock = _AcceptedSocket(
                    accepted.family, accepted.type, accepted.proto, fileno=accepted.detach()
                )
                sock.settimeout(0)
                sock.connection = connection
                connection.task = group.create_task(_serve_connection(sock, connection, admit))
                await asyncio.sleep(0)  # run other tasks, so that closed connections are released

    async def _wait_out(self, error: OSError) -> None:
        """Wait if the system has no free file descriptor; ignore a client that has gone."""
        if error.errno not in _EXHAUSTED:
            await asyncio.sleep(0)
            return
        now = asyncio.get_running_loop().time()
        if now - self._told >= TELL_SECONDS:
            self._told = now
            _log.warning(
                "cannot accept a connection: %s (%d connections are open); raise the limit of "
                "open files (ulimit -n)",
                error.strerror,
                self.limit.open,
            )
        self.limit.make_room()
        await asyncio.sleep(PAUSE_SECONDS)


async def _serve_connection(sock: _AcceptedSocket, connection: Connection, admit: Admit) -> None:
    """Set up one connection; its errors must not affect other connections."""
    try:
        await admit(sock, connection)
    except Exception as error:
        expected = isinstance(error, OSError | TimeoutError)  # ssl.SSLError is an OSError
        _log.log(
            logging.DEBUG if expected else logging.ERROR,
            "a connection from %s failed: %s",
            connection.source,
            error,
            exc_info=None if expected else error,
        )
        sock.close()
    except asyncio.CancelledError:
        sock.close()
        raise
    finally:
        connection.task = None


async def connect(
    sock: socket.socket,
    connection: Connection,
    protocol: Callable[[], asyncio.BaseProtocol],
    tls: ssl.SSLContext | None,
) -> None:
    """Serve an accepted socket with a protocol; returns when the handshake is done."""
    loop = asyncio.get_running_loop()
    timeout = HANDSHAKE_SECONDS if tls is not None else None
    transport, result = await loop.connect_accepted_socket(
        protocol, sock, ssl=tls, ssl_handshake_timeout=timeout
    )
    connection.transport, connection.protocol = transport, result


async def bind_sockets(host: str, port: int) -> list[socket.socket]:
    """Return listening sockets for an address, one for each address family. Raises OSError."""
    loop = asyncio.get_running_loop()
    result = await loop.getaddrinfo(
        host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    sockets: list[socket.socket] = []
    try:
        for family, kind, protocol, _, address in dict.fromkeys(result):
            if sockets and not port:  # all families share the first one's port
                address = (address[0], sockets[0].getsockname()[1], *address[2:])
            sockets.append(_listen_on(family, kind, protocol, address))
    except BaseException:
        for sock in sockets:
            sock.close()
        raise
    return sockets


def _listen_on(family: int, kind: int, protocol: int, address: object) -> socket.socket:
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind(address)  # type: ignore[arg-type]
        sock.listen(BACKLOG)
        sock.settimeout(0)
    except BaseException:
        sock.close()
        raise
    return sock
