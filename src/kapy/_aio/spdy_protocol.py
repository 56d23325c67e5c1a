"""A SPDY/3.1 connection for asyncio: each stream is a channel of bytes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Final, cast

from kapy._aio.byte_streams import Channel
from kapy._aio.spdy import DataReceived, NotSpdy, Session, StreamOpened, StreamReset

MAX_STREAMS: Final = 1000


class SpdyProtocol(asyncio.Protocol):
    """One side of a SPDY connection. client: whether this side opened the connection."""

    def __init__(self, *, client: bool) -> None:
        self._session = Session(client=client)
        self._channels: dict[int, Channel] = {}
        self._transport: asyncio.Transport | None = None
        self._room = asyncio.Event()
        self._room.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop has its own classes

    def data_received(self, data: bytes) -> None:
        try:
            for event in self._session.receive(data):
                match event:
                    case StreamOpened() if len(self._channels) >= MAX_STREAMS:
                        raise NotSpdy(f"more than {MAX_STREAMS} streams are open")
                    case StreamOpened(stream, headers, ended):
                        self._session.accept(stream)
                        channel = self._new_channel(stream)
                        if ended:
                            channel.feed(b"", ended=True)
                        self.on_stream(headers, channel)
                    case DataReceived(stream, came, ended) if stream in self._channels:
                        self._channels[stream].feed(came, ended=ended)
                    case StreamReset(stream) if stream in self._channels:
                        self._channels.pop(stream).fail(_connection_lost_error())
        except NotSpdy:
            self.close()
        self._flush()

    def pause_writing(self) -> None:
        self._room.clear()

    def resume_writing(self) -> None:
        self._room.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._room.set()
        failure = exc if isinstance(exc, OSError) else _connection_lost_error()
        for channel in self._channels.values():
            channel.fail(failure)
        self._channels.clear()

    def on_stream(self, headers: Mapping[str, str], channel: Channel) -> None:
        """Handle a stream that the peer opened; a subclass implements this."""

    def open(self, headers: Mapping[str, str]) -> Channel:
        """Open a stream to the peer; return its channel."""
        channel = self._new_channel(self._session.open(headers))
        self._flush()
        return channel

    def close(self) -> None:
        """Close the connection with all its streams."""
        if self._transport is not None:
            self._transport.close()

    def pause_reading(self) -> None:
        """Stop reading from the connection."""
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Resume reading from the connection."""
        if self._transport is not None:
            self._transport.resume_reading()

    def _new_channel(self, stream: int) -> Channel:
        channel = self._channels[stream] = Channel(partial(self._send, stream), self._room.wait)
        return channel

    def _send(self, stream: int, data: bytes | None) -> None:
        self._session.send(stream, data or b"", end=data is None)
        self._flush()

    def _flush(self) -> None:
        data = self._session.pending()
        if data and self._transport is not None:
            self._transport.write(data)


def _connection_lost_error() -> OSError:
    return ConnectionResetError("the connection was cut off")
