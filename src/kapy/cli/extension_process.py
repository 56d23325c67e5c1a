"""One of several processes of `kapy extension serve --processes`.

Its connection to the process that started it is standard input. Its argument is the descriptor of
the socket over which it gets the connections of clients.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys

from kapy.apps.extension_server.served_process import ServedProcess
from kapy.cli.signals import handle_stop_signals


def main() -> int:
    """Serve until SIGTERM; return the exit code."""
    control = socket.socket(fileno=os.dup(sys.stdin.fileno()))
    with open(os.devnull, "rb") as nothing:  # the extension may read standard input
        os.dup2(nothing.fileno(), sys.stdin.fileno())
    connections = socket.socket(fileno=int(sys.argv[1]))
    connections.set_inheritable(False)
    return asyncio.run(_serve(control, connections))


async def _serve(control: socket.socket, connections: socket.socket) -> int:
    with handle_stop_signals() as stop:
        return await ServedProcess(stop.wait).run(control, connections)


if __name__ == "__main__":
    sys.exit(main())
