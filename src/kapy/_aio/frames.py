"""Frames over a stream socket between two processes of this program.

A frame has a kind, a number and a payload. Frames that are sent in two consecutive steps of the
event loop go out in one write, and many arrive in one read: a system call that wakes another
process costs more than a small frame. Two steps are needed because a task that is woken in one step
sends its response in the next one.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from typing import Final

_HEAD: Final = struct.Struct(">IBI")
LATER_SECONDS: Final = 0.002
"""The maximum number of seconds that a frame waits for other frames."""
_BUFFER: Final = 4 << 20
"""The size in bytes of the kernel's buffer for one direction, as far as the kernel permits it."""

Receive = Callable[[int, int, bytes], None]
"""Receives the kind, the number and the payload of a frame."""


class Frames(asyncio.Protocol):
    """One end of a connection between two processes that exchange frames.

    receive: called for each frame. lost: called once when the connection has ended.
    """

    def __init__(self, receive: Receive, lost: Callable[[], None]) -> None:
        self._receive = receive
        self._lost = lost
        self._transport: asyncio.Transport | None = None
        self._rest = b""
        self._parts: list[bytes] = []
        self._size = 0  # of the parts
        self._is_due = False
        self._timer: asyncio.TimerHandle | None = None
        self._writable = asyncio.Event()
        self._writable.set()

    @classmethod
    async def open(cls, end: socket.socket, receive: Receive, lost: Callable[[], None]) -> Frames:
        """Open a frame connection on a connected socket. The socket is closed with the
        connection.
        """
        end.settimeout(0)
        for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            with suppress(OSError):  # some systems refuse what is above their limit
                end.setsockopt(socket.SOL_SOCKET, option, _BUFFER)
        loop = asyncio.get_running_loop()
        _, result = await loop.create_connection(lambda: cls(receive, lost), sock=end)
        return result

    def send(self, kind: int, number: int, payload: bytes) -> None:
        """Send a frame to the peer. Nothing is sent after the connection has ended."""
        if self._transport is None:
            return
        if not self._is_due:
            # Before any change: a thread without an event loop fails here.
            asyncio.get_running_loop().call_soon(self._flush_soon)
            self._is_due = True
        self._parts += (_HEAD.pack(len(payload), kind, number), payload)
        self._size += _HEAD.size + len(payload)

    def send_later(self, kind: int, number: int, payload: bytes) -> None:
        """Send a frame together with the next one, or after `LATER_SECONDS`."""
        if self._transport is None:
            return
        self._parts += (_HEAD.pack(len(payload), kind, number), payload)
        self._size += _HEAD.size + len(payload)
        if not self._is_due and self._timer is None:
            # A timer, since nothing tells that no other frame follows.
            self._timer = asyncio.get_running_loop().call_later(LATER_SECONDS, self.flush)

    def _flush_soon(self) -> None:
        asyncio.get_running_loop().call_soon(self.flush)

    @property
    def backlog(self) -> int:
        """Return the number of bytes that the peer has not read yet."""
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    async def drain(self) -> None:
        """Wait until the peer has read most of what was sent, or the connection has ended."""
        await self._writable.wait()

    async def wait_for_room(self, most: int) -> None:
        """Wait until at most `most` bytes wait for the peer, or the connection has ended."""
        while self._transport is not None and self.backlog + self._size > most:
            self.flush()
            if self._writable.is_set():
                await asyncio.sleep(0)
            await self._writable.wait()

    def close(self) -> None:
        """Send the waiting frames, and close the connection."""
        if self._transport is not None:
            self.flush()
            self._transport.close()

    def abort(self) -> None:
        """Close the connection at once; waiting frames are lost."""
        if self._transport is not None:
            self._transport.abort()

    def flush(self) -> None:
        """Send the waiting frames at once."""
        self._is_due = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        parts, self._parts, self._size = self._parts, [], 0
        if self._transport is not None and parts:
            self._transport.write(b"".join(parts))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Handle the start of the connection."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Decode the frames in the received data, and pass them to `receive`."""
        if self._rest:
            data = self._rest + data
        position, size, head = 0, len(data), _HEAD.size
        while size - position >= head:
            length, kind, number = _HEAD.unpack_from(data, position)
            end = position + head + length
            if end > size:
                break
            self._receive(kind, number, data[position + head : end])
            position = end
        self._rest = data[position:]

    def pause_writing(self) -> None:
        """Handle a peer that does not read."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Handle a peer that reads again."""
        self._writable.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """Handle the end of the connection."""
        del exc
        self._transport = None
        self._writable.set()
        self._lost()
