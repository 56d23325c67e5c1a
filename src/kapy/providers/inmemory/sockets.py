"""Addresses and listening sockets of workload API servers, and how planes share a port.

Every address of 127.0.0.0/8 belongs to the local machine (on Linux): sixteen million clusters can
listen on one port. The address is derived from the name of the cluster and the UID of its
DevCluster: clusters of the same name in several planes do not get the same address. It is stored in
the DevCluster.

The first plane of a user listens on all addresses of the port. A plane whose clusters were at that
port before, and which comes later, listens on the addresses of its clusters only: the kernel gives
a connection to the socket with the more specific address. Both sockets have SO_REUSEPORT, which the
kernel accepts from processes of the same user.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable
from hashlib import blake2b
from typing import Final

from kapy.sdk import Endpoint

PORT: Final = 20000
"""The first port of simulated API servers, as in upstream's in-memory backend."""

PORTS: Final = range(PORT, 24000)
LOOPBACK: Final = "127.0.0.1"
ANY: Final = "0.0.0.0"


def loopback_address(name: str, is_taken: Callable[[str], bool]) -> str:
    """Return the address for a name, or the next free one; 127.0.0.x is never used."""
    attempt = 0
    while True:
        seed = f"{name}#{attempt}" if attempt else name
        a, b, c = blake2b(seed.encode(), digest_size=3).digest()
        address = f"127.{1 + a % 254}.{b}.{1 + c % 254}"
        if not is_taken(address):
            return address
        attempt += 1


def has_many_loopback_addresses() -> bool:
    """Return whether all of 127.0.0.0/8 is local (macOS has 127.0.0.1 only)."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.bind(("127.1.2.3", 0))
        except OSError:
            return False
    return True


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
