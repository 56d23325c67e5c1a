"""Servers on the loopback device that upstream's specs ask: a Go module proxy and GitHub.

The specs look up released versions before any of them runs, and download the components and the
clusterctl of old ones. Both come from here: `GOPROXY` names the server, `HTTPS_PROXY` sends
github.com to it, `SSL_CERT_FILE` says whom to trust there.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Final

from kapy._aio.clock import system_clock
from kapy.kube import pki

HOST: Final = "github.com"
LIST: Final = "/sigs.k8s.io/cluster-api/@v/list"
DOWNLOAD: Final = re.compile(r"/[a-z-]+/[a-z-]+/releases/download/(v[0-9.]+)/([a-z0-9.-]+)")
File = Callable[[str, str], bytes | None]
"""A file of a release, by version and name."""


@contextmanager
def released(versions: tuple[str, ...], file: File, folder: Path) -> Iterator[dict[str, str]]:
    """Serve; gives the environment in which programs find it."""
    now = system_clock()
    authority = pki.new_ca("releases", now=now)
    leaf = pki.issue(authority, HOST, now=now, names=(HOST,), usages=("server",))
    (folder / "releases.crt").write_bytes(authority.certificate)
    (folder / "github.pem").write_bytes(leaf.certificate + leaf.key)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(folder / "github.pem")

    class Handler(_Handler):
        """Requests to this server."""

    Handler.versions, Handler.file, Handler.tls = versions, staticmethod(file), tls
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        here = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            yield {
                "GOPROXY": here,
                "HTTPS_PROXY": here,
                "NO_PROXY": "localhost,127.0.0.0/8,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16",
                "SSL_CERT_FILE": str(folder / "releases.crt"),
            }
        finally:
            server.shutdown()


class _Handler(BaseHTTPRequestHandler):
    versions: tuple[str, ...]
    file: File
    tls: ssl.SSLContext

    def do_GET(self) -> None:
        """A list of versions, or a file of a release."""
        if self.path == LIST:
            self._answer("\n".join(self.versions).encode())
        elif match := DOWNLOAD.fullmatch(self.path):
            self._answer(self.file(*match.groups()))
        else:
            self._answer(None)

    def do_CONNECT(self) -> None:
        """A tunnel to github.com, which ends here; there is none to others."""
        if self.path != f"{HOST}:443":
            self.send_error(403, f"only {HOST} is served here")
            return
        self.send_response(200)
        self.end_headers()
        self.wfile.flush()
        with self.tls.wrap_socket(self.connection, server_side=True) as inner:
            self.connection, self.rfile, self.wfile = (
                inner,
                inner.makefile("rb"),
                inner.makefile("wb"),
            )
            self.close_connection = False
            while not self.close_connection:
                self.handle_one_request()
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is logged."""

    def _answer(self, content: bytes | None) -> None:
        self.send_response(404 if content is None else 200)
        self.send_header("Content-Length", str(len(content or b"")))
        self.end_headers()
        self.wfile.write(content or b"")
        self.wfile.flush()
