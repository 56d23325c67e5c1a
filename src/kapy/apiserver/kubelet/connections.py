"""The connection that a reply turns the request's connection into."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from kapy._aio.websocket_protocol import WebSocketTunnel
from kapy.apiserver.kubelet.command_connection import (
    CommandSession,
    SpdyCommand,
    WebSocketCommand,
)
from kapy.apiserver.kubelet.exec import Execution
from kapy.apiserver.kubelet.port_connection import NumberedPorts, PortForwardConnection
from kapy.apiserver.kubelet.port_forward import NUMBERED, PortForward


class Closable(Protocol):
    """A connection that can be closed."""

    def close(self) -> None: ...

    async def aclose(self) -> None: ...


@dataclass(frozen=True, slots=True)
class StreamConnection:
    """A connection with streams. head: the head of the 101 response. protocol: takes in what
    arrives after it. serve: serves the streams until either side ends the connection.
    """

    head: bytes
    protocol: asyncio.Protocol
    closable: Closable
    serve: Callable[[], Awaitable[None]]


def stream_connection(reply: PortForward | Execution) -> StreamConnection:
    """Return the connection of a reply that has an upgrade."""
    assert reply.upgrade is not None
    head = reply.upgrade.response_head()
    is_websocket = reply.upgrade.kind == "websocket"
    if isinstance(reply, Execution):
        assert reply.run is not None
        assert reply.wanted is not None
        session = CommandSession(reply.wanted)
        command: SpdyCommand | WebSocketCommand
        if is_websocket:
            command = WebSocketCommand(session, reply.wanted, reply.upgrade.protocol)
        else:
            command = SpdyCommand(session)
        return StreamConnection(head, command, command, partial(session.serve, reply.run))
    assert reply.connect is not None
    if reply.upgrade.protocol == NUMBERED:
        numbered = NumberedPorts(reply.ports)
        return StreamConnection(head, numbered, numbered, partial(numbered.serve, reply.connect))
    ports = PortForwardConnection()
    protocol = WebSocketTunnel(ports) if is_websocket else ports
    return StreamConnection(head, protocol, ports, partial(ports.serve, reply.connect))
