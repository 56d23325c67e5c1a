"""A process that serves a plane's API server. Its connection to the plane is standard input."""

from __future__ import annotations

import os
import socket
import sys

from kapy.apiserver.store.replica import SharedRevision
from kapy.apps.api_processes.process import MOST_HANDLES, ApiProcess
from kapy.cli.event_loop import run


def main() -> int:
    """Serve until the plane ends, or closes the connection; return the exit code."""
    return run(_serve())


async def _serve() -> int:
    end = socket.socket(fileno=os.dup(sys.stdin.fileno()))
    _, handles, _, _ = socket.recv_fds(end, 1, MOST_HANDLES)
    if not handles:
        return 1  # the plane has ended
    committed, *listening = handles
    sockets = [socket.socket(fileno=handle) for handle in listening]
    return await ApiProcess(SharedRevision(committed)).run(end, sockets)


if __name__ == "__main__":
    sys.exit(main())
