"""The server's side of a WebSocket (RFC 6455) for asyncio, after its handshake."""

from __future__ import annotations

import asyncio
from typing import Final, cast

from websockets.frames import Frame, Opcode
from websockets.protocol import SERVER, State
from websockets.protocol import Protocol as Session

MAX_MESSAGE_BYTES: Final = 1 << 24
CLOSE_SECONDS: Final = 2.0
"""Seconds to wait for the client's close message. Closing the connection earlier could drop data
that are still in transit."""
_NORMAL: Final = 1000
_DATA: Final = (Opcode.TEXT, Opcode.BINARY, Opcode.CONT)


class WebSocketProtocol(asyncio.Protocol):
    """An asyncio protocol that receives and sends WebSocket messages, and responds to pings."""

    def __init__(self) -> None:
        self._session = Session(SERVER, max_size=MAX_MESSAGE_BYTES)
        self._fragments = bytearray()
        self._transport: asyncio.Transport | None = None
        self._closing: asyncio.TimerHandle | None = None
        self._room = asyncio.Event()
        self._room.set()
        self._input_unread = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop has its own classes

    def data_received(self, data: bytes) -> None:
        self._session.receive_data(data)
        for frame in self._session.events_received():
            if isinstance(frame, Frame) and frame.opcode in _DATA:
                self._fragments += frame.data
                if frame.fin:
                    message, self._fragments = bytes(self._fragments), bytearray()
                    self.on_message(message)
        self._flush()

    def eof_received(self) -> bool | None:
        self._session.receive_eof()
        self._flush()
        return None

    def pause_writing(self) -> None:
        """Stop reading from a client that does not read: each of its pings adds an unread pong."""
        self._room.clear()
        self._adjust_reading()

    def resume_writing(self) -> None:
        self._room.set()
        self._adjust_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._transport = None
        self._room.set()
        if self._closing is not None:
            self._closing.cancel()

    def on_message(self, message: bytes) -> None:
        """Handle a message of the client; a subclass implements this."""

    def send(self, message: bytes) -> None:
        """Send a message to the client; no effect after the end of the connection."""
        if self._session.state is State.OPEN:
            self._session.send_binary(message)
            self._flush()

    def pause_reading(self) -> None:
        """Stop reading from the connection."""
        self._input_unread = True
        self._adjust_reading()

    def resume_reading(self) -> None:
        """Resume reading from the connection."""
        self._input_unread = False
        self._adjust_reading()

    def _adjust_reading(self) -> None:
        if self._transport is None:
            return
        if self._input_unread or not self._room.is_set():
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def close(self) -> None:
        """End the connection when the client has agreed, or after some seconds."""
        if self._session.state is State.OPEN:
            self._session.send_close(_NORMAL)
            self._flush()
        if self._transport is not None and self._closing is None:
            loop = asyncio.get_running_loop()
            self._closing = loop.call_later(CLOSE_SECONDS, self._transport.close)

    def _flush(self) -> None:
        if self._transport is None:
            return
        for data in self._session.data_to_send():
            if data:
                self._transport.write(data)
            else:  # both sides have closed, or the client broke the protocol
                self._transport.close()


class WebSocketTunnel(WebSocketProtocol):
    """A WebSocket whose messages are the bytes of another protocol's connection."""

    def __init__(self, inner: asyncio.Protocol) -> None:
        super().__init__()
        self._inner = inner

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._inner.connection_made(_TunnelTransport(self))

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._inner.connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._inner.resume_writing()

    def on_message(self, message: bytes) -> None:
        self._inner.data_received(message)


class _TunnelTransport(asyncio.Transport):
    """An asyncio transport that sends the bytes of the tunnelled protocol as WebSocket messages."""

    def __init__(self, tunnel: WebSocketTunnel) -> None:
        super().__init__()
        self._tunnel = tunnel

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self._tunnel.send(bytes(data))

    def close(self) -> None:
        self._tunnel.close()
