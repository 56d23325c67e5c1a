"""Connections with streams: those that an upgraded request becomes, and those to the ports of a
Pod.

Ports of a Pod are reached over SPDY and over a WebSocket; `command_connection` has the streams of a
command.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol

from kapy._aio.byte_streams import Channel
from kapy._aio.spdy_protocol import SpdyProtocol
from kapy._aio.websocket_protocol import WebSocketProtocol, WebSocketTunnel
from kapy.apiserver.kubelet.command_connection import (
    CommandSession,
    SpdyCommand,
    WebSocketCommand,
)
from kapy.apiserver.kubelet.exec import Execution
from kapy.apiserver.kubelet.port_forward import NUMBERED, Connect, PortForward
from kapy.kube.digits import parse_digits


class _StreamPair(NamedTuple):
    port: int
    data: Channel
    trouble: Channel


class PortForwardConnection(SpdyProtocol):
    """The SPDY connection of one client to the ports of one pod."""

    def __init__(self) -> None:
        super().__init__(client=False)
        self._halves: dict[str, dict[str, tuple[Mapping[str, str], Channel]]] = {}
        self._pairs: asyncio.Queue[_StreamPair | None] = asyncio.Queue()

    async def serve(self, connect: Connect) -> None:
        """Serve all port connections until the client disconnects."""
        async with asyncio.TaskGroup() as group:
            tasks = set()
            while (pair := await self._pairs.get()) is not None:
                task = group.create_task(_copy_streams(pair, connect))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
            for task in tasks:
                task.cancel()

    async def aclose(self) -> None:
        """Close the connection."""
        self.close()

    def on_stream(self, headers: Mapping[str, str], channel: Channel) -> None:
        halves = self._halves.setdefault(headers.get("requestid", ""), {})
        halves[headers.get("streamtype", "")] = headers, channel
        if "data" not in halves or "error" not in halves:
            return
        del self._halves[headers.get("requestid", "")]
        port_headers, data = halves["data"]
        port = port_headers.get("port", "")
        self._pairs.put_nowait(_StreamPair(parse_digits(port) or 0, data, halves["error"][1]))

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._pairs.put_nowait(None)


class NumberedPorts(WebSocketProtocol):
    """The WebSocket of one client to some ports of one pod, one connection to each.

    The first byte of a message is the number of a stream: the even ones carry data, the odd ones
    errors. The first message of the server for each is the port.
    """

    def __init__(self, ports: Sequence[int]) -> None:
        super().__init__()
        self._ports = ports
        self._channels: list[Channel] = []
        self._gone = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        for number in range(2 * len(self._ports)):
            self._channels.append(Channel(partial(self._send, number), self._room.wait))
            self.send(bytes([number]) + self._ports[number // 2].to_bytes(2, "little"))

    async def serve(self, connect: Connect) -> None:
        """Serve the connections to all ports until they end or the client disconnects."""
        async with asyncio.TaskGroup() as group:
            pairs = zip(self._ports, self._channels[::2], self._channels[1::2], strict=True)
            copies = [
                group.create_task(_copy_streams(_StreamPair(*pair), connect)) for pair in pairs
            ]
            leaving = group.create_task(self._gone.wait())
            open_copies = set(copies)
            while open_copies and not leaving.done():
                waiting = [*open_copies, leaving]
                done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                open_copies -= done
            for task in (*open_copies, leaving):
                task.cancel()

    async def aclose(self) -> None:
        """Close the connection."""
        self.close()

    def on_message(self, message: bytes) -> None:
        if message and message[0] % 2 == 0 and message[0] < len(self._channels):
            self._channels[message[0]].feed(message[1:])

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        for channel in self._channels:
            channel.fail(ConnectionResetError("the connection was cut off"))
        self._gone.set()

    def _send(self, number: int, data: bytes | None) -> None:
        if data is not None:
            self.send(bytes([number]) + data)


async def _copy_streams(pair: _StreamPair, connect: Connect) -> None:
    try:
        await connect(pair.port, pair.data)
    except OSError as error:
        pair.trouble.write(f"error forwarding port {pair.port}: {error}".encode())
    finally:
        pair.trouble.close()
        pair.data.close()


class Closable(Protocol):
    """A connection that can be closed."""

    def close(self) -> None: ...

    async def aclose(self) -> None: ...


@dataclass(frozen=True, slots=True)
class StreamConnection:
    """A connection with streams, after the upgrade of a request. head: the head of the 101
    response. protocol: receives the bytes that follow the request. serve: serves the streams until
    either side ends the connection.
    """

    head: bytes
    protocol: asyncio.Protocol
    closable: Closable
    serve: Callable[[], Awaitable[None]]


def stream_connection(reply: PortForward | Execution) -> StreamConnection:
    """Return the connection that a reply with an upgrade opens."""
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
