"""Accepted connections that are passed to another process over a socket pair.

A process that accepts for others decides which of them gets a connection. Where several processes
accept from one listening socket instead, the kernel decides: a busy process may get most of the
connections. The sockets that a process has not taken when it ends are passed to another one.
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final

MOST_PENDING: Final = 64
"""Sockets that a process is passed before it has taken the first one of them."""
_SOCKET: Final = b"\0"
_TAKEN: Final = b"\1"


class SocketSender:
    """The end of the process that accepts.

    on_taken: called when the other process has taken sockets. on_untaken: called once that process
    has ended, with those that it was passed and has not taken.
    """

    def __init__(
        self,
        end: socket.socket,
        on_taken: Callable[[], None],
        on_untaken: Callable[[Sequence[socket.socket]], None],
    ) -> None:
        end.settimeout(0)
        self._is_open = True
        self._passed: deque[socket.socket] = deque()
        self._end = end
        self._on_taken = on_taken
        self._on_untaken = on_untaken
        asyncio.get_running_loop().add_reader(end, self._on_readable)

    @property
    def pending(self) -> int:
        """The number of sockets that were passed and not taken yet."""
        return len(self._passed)

    def send(self, connection: socket.socket) -> bool:
        """Pass a socket, which is closed here once it is taken; return False if the process takes
        none now."""
        if not self._is_open or self.pending >= MOST_PENDING:
            return False
        try:
            socket.send_fds(self._end, [_SOCKET], [connection.fileno()])
        except ConnectionError:
            self.close()
            return False
        except OSError:  # the kernel has no room for it now
            return False
        self._passed.append(connection)
        return True

    def close(self) -> None:
        """Pass no more sockets."""
        if self._is_open:
            self._is_open = False
            asyncio.get_running_loop().remove_reader(self._end)
            self._end.close()
            untaken = tuple(self._passed)
            self._passed.clear()
            self._on_untaken(untaken)

    def _on_readable(self) -> None:
        try:
            taken = len(self._end.recv(MOST_PENDING))
        except BlockingIOError:
            return
        except OSError:
            taken = 0
        if not taken:
            self.close()
            return
        for _ in range(min(taken, self.pending)):
            self._passed.popleft().close()
        self._on_taken()


class SocketReceiver:
    """The end of the process that serves: a `Source` of connections like a listening socket."""

    def __init__(self, end: socket.socket) -> None:
        end.settimeout(0)
        self._end = end

    async def accept(self) -> tuple[socket.socket, Any]:
        """Wait for a socket; return it and the address of its peer.

        Raises OSError if there is no free descriptor for it, or its peer has gone. Waits for ever
        when the other process passes no more.
        """
        data, descriptors = await self._receive()
        if not data:
            await asyncio.get_running_loop().create_future()
        with suppress(OSError):  # the other process has just ended
            self._end.send(_TAKEN)
        if not descriptors:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        connection = socket.socket(fileno=descriptors[0])
        connection.set_inheritable(False)
        try:
            return connection, connection.getpeername()
        except OSError:
            connection.close()
            raise

    def close(self) -> None:
        """Take no more sockets."""
        self._end.close()

    async def _receive(self) -> tuple[bytes, list[int]]:
        loop = asyncio.get_running_loop()
        while True:
            try:
                # One byte, so that the descriptors of two sockets never come together.
                data, descriptors, _, _ = socket.recv_fds(self._end, 1, 1)
            except BlockingIOError:
                readable = loop.create_future()
                loop.add_reader(self._end, _wake, readable)
                try:
                    await readable
                finally:
                    loop.remove_reader(self._end)
            except ConnectionError:
                return b"", []
            else:
                return data, descriptors


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
