"""A container engine without containers, for upstream's infrastructure manager.

It asks for the engine's facts when it starts, also where all machines are in memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingUnixStreamServer
from threading import Thread
from typing import Final

INFO: Final = {"ServerVersion": "27.0.0", "NCPU": 4, "MemTotal": 1 << 33, "CgroupVersion": "2"}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Facts of the engine; all lists are empty."""
        self._answer(INFO if self.path.endswith("/info") else [])

    def do_HEAD(self) -> None:
        """Say that it is there."""
        self._answer([])

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is logged."""

    def address_string(self) -> str:
        """A client of a socket file has no address."""
        return "unix"

    def _answer(self, body: object) -> None:
        content = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Api-Version", "1.47")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


@contextmanager
def no_engine(socket: Path) -> Iterator[None]:
    """Serve at a socket."""
    with ThreadingUnixStreamServer(str(socket), _Handler) as server:
        server.daemon_threads = True
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield
        finally:
            server.shutdown()
            socket.unlink()
