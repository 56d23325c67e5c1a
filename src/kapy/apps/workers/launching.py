"""Starts the process of a worker, which ends with this one."""

from __future__ import annotations

import socket
import sys
from typing import Final, Protocol

from kapy._aio.child_process import ChildProcess
from kapy._aio.frames import Frames
from kapy.apps.workers.channel import Channel

COMMAND: Final = (sys.executable, "-m", "kapy.cli.worker")


class Launched(Protocol):
    """A worker that was started."""

    async def wait(self) -> int:
        """Wait for its end; return the exit code, or the negative number of a signal."""

    async def stop(self) -> None:
        """End it."""


class Launch(Protocol):
    """Starts a worker."""

    async def __call__(self, channel: Channel) -> Launched:
        """Start a worker at the other end of a channel. Raises OSError."""


async def launch_process(channel: Channel) -> Launched:
    """Start a process whose standard input is its end of the connection. Raises OSError.

    The socket pair has no name: no other program can connect, so the connection itself is the
    worker's credential.
    """
    here, there = socket.socketpair()
    try:
        with there:
            process = await ChildProcess.start(COMMAND, stdin=there.fileno())
        channel.connection = await Frames.open(here, channel.receive, channel.lose)
    except BaseException:
        here.close()
        raise
    return process
