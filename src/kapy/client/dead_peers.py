"""Socket options by which the kernel notices that the other side of a connection is gone.

A host that vanished, or a network that drops packets, ends no connection: without these options, a
request waits for its time limit, and a watch for minutes.
"""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from asyncio import BaseTransport  # commands without an event loop do not import it

IDLE_SECONDS: Final = 6
"""Seconds without a packet after which the kernel sends a keep-alive probe."""
INTERVAL_SECONDS: Final = 2
PROBES: Final = 2
TIMEOUT_SECONDS: Final = 10
"""Seconds after which data or probes that were not acknowledged end the connection."""
_TCP_OPTIONS: Final = (
    ("TCP_KEEPIDLE", IDLE_SECONDS),
    ("TCP_KEEPALIVE", IDLE_SECONDS),  # macOS
    ("TCP_KEEPINTVL", INTERVAL_SECONDS),
    ("TCP_KEEPCNT", PROBES),
    ("TCP_USER_TIMEOUT", TIMEOUT_SECONDS * 1000),  # Linux
)


def notice_dead_peer(connection: socket.socket | None) -> None:
    """Set the options that this system has. Other sockets than TCP's are left alone."""
    if connection is None or connection.family not in (socket.AF_INET, socket.AF_INET6):
        return
    with suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _TCP_OPTIONS:
        if (option := getattr(socket, name, None)) is not None:
            with suppress(OSError):
                connection.setsockopt(socket.IPPROTO_TCP, option, value)


def notice_dead_peer_of(transport: BaseTransport) -> None:
    """Set the options on the socket of an asyncio transport."""
    notice_dead_peer(transport.get_extra_info("socket"))


def tcp_socket(address: tuple[Any, ...]) -> socket.socket:
    """Return a new socket for an address (of `getaddrinfo`) with the options."""
    family, kind, protocol, *_ = address
    result = socket.socket(family, kind, protocol)
    notice_dead_peer(result)
    return result
