"""Byte streams that are not sockets: streams inside other connections, and TLS on a byte stream."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

_CHUNK_BYTES: Final = 1 << 16
_MAX_UNREAD: Final = 1 << 24
PAUSE_BYTES: Final = 1 << 20
"""Unread bytes above which the sender is paused."""


class ByteStream(Protocol):
    """A connection to a peer: bytes can be read and written."""

    async def read(self) -> bytes:
        """Return the next bytes; b"" at the end of the stream. Raises OSError if the connection
        broke."""

    def write(self, data: bytes) -> None:
        """Send bytes to the peer."""

    def close(self) -> None:
        """Close both directions of the connection."""


class Channel:
    """A ByteStream inside another connection, such as one of several multiplexed streams.

    send: sends written bytes over that connection; None marks the end. room: waits until more bytes
    may be written; None if that is always allowed.
    """

    def __init__(
        self,
        send: Callable[[bytes | None], None],
        room: Callable[[], Awaitable[object]] | None = None,
    ) -> None:
        self._send = send
        self._room = room
        self._came = bytearray()
        self._ended = self._closed = False
        self._failure: OSError | None = None
        self._news = asyncio.Event()
        self._told: Callable[[bytes], None] | None = None
        self._pause: Callable[[], None] | None = None
        self._resume: Callable[[], None] | None = None
        self._paused = False

    def hold_back(self, pause: Callable[[], None], resume: Callable[[], None]) -> None:
        """Set callbacks that pause and resume the sender, for flow control."""
        self._pause, self._resume = pause, resume

    def set_listener(self, listener: Callable[[bytes], None]) -> None:
        """Pass received bytes to a listener instead of buffering them for `read`."""
        self._told = listener

    def feed(self, data: bytes, *, ended: bool = False) -> None:
        """Add received bytes for the reader. ended: whether the peer sends no more bytes."""
        if self._told is not None:
            if data:
                self._told(data)
            return
        self._came += data
        self._ended = self._ended or ended
        if len(self._came) > PAUSE_BYTES and self._pause is not None and not self._paused:
            self._paused = True
            self._pause()
        if len(self._came) > _MAX_UNREAD:  # the sender ignores flow control
            self._came.clear()
            self._failure = ConnectionResetError(f"{_MAX_UNREAD} bytes came that nobody read")
        self._news.set()

    def fail(self, failure: OSError) -> None:
        """Record that the stream was cut off; reading then raises the error."""
        self._failure = failure
        self._news.set()

    async def read(self) -> bytes:
        while not self._came:
            if self._failure is not None:
                raise self._failure
            if self._ended:
                return b""
            self._news.clear()
            await self._news.wait()
        data = bytes(self._came)
        self._came.clear()
        if self._paused and self._resume is not None:
            self._paused = False
            self._resume()
        return data

    def write(self, data: bytes) -> None:
        if not self._closed and data:
            self._send(data)

    async def drain(self) -> None:
        """Wait until the peer has received most of the written bytes."""
        if self._room is not None:
            await self._room()

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._send(None)


class Tls:
    """TLS on a ByteStream; a ByteStream itself once `handshake` is done."""

    def __init__(
        self,
        stream: ByteStream,
        context: ssl.SSLContext,
        *,
        server_side: bool = False,
        server_hostname: str | None = None,
    ) -> None:
        self._below = stream
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.session = context.wrap_bio(
            self._in, self._out, server_side=server_side, server_hostname=server_hostname
        )

    async def handshake(self) -> None:
        """Perform the TLS handshake. Raises ssl.SSLError and OSError."""
        while True:
            try:
                self.session.do_handshake()
            except ssl.SSLWantReadError:
                self._flush()
                await self._read_more()
            except ssl.SSLError:
                self._flush()  # sends the TLS alert with the reason
                raise
            else:
                self._flush()
                return

    async def read(self) -> bytes:
        while True:
            try:
                return self.session.read(_CHUNK_BYTES)
            except ssl.SSLWantReadError:
                self._flush()
                await self._read_more()
            except ssl.SSLZeroReturnError:
                return b""

    def write(self, data: bytes) -> None:
        if data:
            self.session.write(data)
            self._flush()

    def close(self) -> None:
        self._below.close()

    def _flush(self) -> None:
        if self._out.pending:
            self._below.write(self._out.read())

    async def _read_more(self) -> None:
        data = await self._below.read()
        if not data:
            raise ConnectionResetError("the other side hung up")
        self._in.write(data)
