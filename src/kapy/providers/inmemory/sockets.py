"""Listening sockets of workload clusters, and how planes share a port.

The first plane of a user listens on all addresses of the port. A plane whose clusters were at that
port before, and which comes later, listens on the addresses of its clusters only: the kernel gives
a connection to the socket with the more specific address. Both sockets have SO_REUSEPORT, which
the kernel accepts from processes of the same user.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import Final

from kapy.providers.inmemory.addresses import ANY
from kapy.sdk import Endpoint

BACKLOG: Final = 1024
PATIENCE: Final = 1.0
"""Seconds after which a connection that was not closed counts as served. A timer: a server waits
for the client to begin."""


def listening_socket(address: Endpoint) -> socket.socket:
    """Return a socket that accepts connections from this machine only. Raises OSError if the
    address is in use.
    """
    sock = _tcp_socket()
    try:
        if address.host == ANY and hasattr(socket, "SO_BINDTODEVICE"):
            # Connections from other machines are refused by the kernel. An old kernel allows this
            # option to root only; then they are closed after a check of the local address.
            with contextlib.suppress(PermissionError):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo\0")
        sock.bind(address)
        # Not earlier: two planes must not listen on all addresses of a port at the same time.
        _share_port(sock)
        sock.listen(BACKLOG)
    except OSError:
        sock.close()
        raise
    return sock


def bound_beside(address: Endpoint) -> socket.socket:
    """Return a socket for one address of a port that another plane listens on. It does not listen
    yet. Raises OSError if the other process does not share the port.
    """
    sock = _tcp_socket()
    try:
        _share_port(sock)
        sock.bind(address)
    except OSError:
        sock.close()
        raise
    return sock


async def is_answered(address: Endpoint) -> bool:
    """Return whether a cluster answers there. A plane closes connections to other addresses."""
    try:
        async with asyncio.timeout(PATIENCE):
            reader, writer = await asyncio.open_connection(*address)
            try:
                return bool(await reader.read(1))
            finally:
                writer.close()
    except TimeoutError:
        return True
    except OSError:
        return False


def _tcp_socket() -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.settimeout(0)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return sock


def _share_port(sock: socket.socket) -> None:
    """Raises OSError on systems without shared ports."""
    if hasattr(socket, "SO_REUSEPORT"):
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
