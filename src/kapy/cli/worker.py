"""The process of a plane's worker. Its connection to the plane is standard input."""

from __future__ import annotations

import os
import socket
import sys

from kapy.apps.workers.process import Worker
from kapy.cli.event_loop import run


def main() -> int:
    """Work until the plane ends, or closes the connection; return the exit code."""
    return run(Worker().run(socket.socket(fileno=os.dup(sys.stdin.fileno()))))


if __name__ == "__main__":
    sys.exit(main())
