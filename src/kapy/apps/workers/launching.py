"""Starts the processes of a plane, which end with this one."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from kapy._aio.child_process import ChildProcess
from kapy._aio.frames import Frames, Receive
from kapy.apps.workers.channel import Channel

COMMAND: Final = (sys.executable, "-m", "kapy.cli.worker")


class Launched(Protocol):
    """A worker process that was started."""

    async def wait(self) -> int:
        """Wait for its end; return the exit code, or the negative number of a signal."""

    async def stop(self) -> None:
        """Stop the worker process."""


class Launch(Protocol):
    """A function that starts a worker process."""

    async def __call__(self, channel: Channel) -> Launched:
        """Start a worker at the other end of a channel. Raises OSError."""


async def launch_process(channel: Channel) -> Launched:
    """Start a worker process at the other end of a channel. Raises OSError."""
    process, channel.connection = await start_connected(COMMAND, channel.receive, channel.lose)
    return process


async def start_connected(
    command: Sequence[str],
    receive: Receive,
    lose: Callable[[], None],
    handles: Sequence[int] = (),
) -> tuple[ChildProcess, Frames]:
    """Start a process whose standard input is its end of the connection. Raises OSError.

    The socket pair has no name: no other program can connect, so the connection itself is the
    process' credential. handles: file descriptors that it gets with the first byte, if any.
    """
    here, there = socket.socketpair()
    try:
        with there:
            process = await ChildProcess.start(command, stdin=there.fileno())
        if handles:
            socket.send_fds(here, [b"\0"], handles)
        connection = await Frames.open(here, receive, lose)
    except BaseException:
        here.close()
        raise
    return process, connection
