"""A kept connection for frequent small probes of a server.

Every workload cluster is probed every few seconds. Through the general HTTP client, probes would
take most of an idle program's CPU time; here a probe is one write and one read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from ssl import SSLContext
from typing import Final, cast
from urllib.parse import urlsplit

import httptools

from kapy.client.dead_peers import notice_dead_peer_of

MAX_BYTES: Final = 1 << 20
"""Maximum bytes of an answer to a probe."""

Answer = tuple[int, str, bytes]
"""Status, content type, body."""


class NoHttp(ValueError):
    """The received bytes are not a valid HTTP response."""


class ConnectionClosed(ConnectionError):
    """The connection was closed. begun: whether a part of the response had already arrived."""

    def __init__(self, cause: Exception | None, *, begun: bool) -> None:
        super().__init__(str(cause or "the other side hung up"))
        self.begun = begun


class ProbeConnection:
    """Probes one server over TLS, one request at a time; connects on demand.

    base: the URL prefix. headers: sent with every request. Raises OSError, ValueError.
    """

    __slots__ = ("_base", "_busy", "_headers", "_kept", "_name", "_tls")

    def __init__(
        self, base: str, tls: SSLContext, name: str | None, headers: Mapping[str, str]
    ) -> None:
        self._base = urlsplit(base)
        self._tls = tls
        self._name = name
        self._headers = "".join(f"{item}: {text}\r\n" for item, text in headers.items())
        self._kept: _Connection | None = None
        self._busy = asyncio.Lock()

    async def probe(self, path: str) -> Answer:
        """Return the response to a GET. If the kept connection was closed meanwhile, open another
        one.
        """
        async with self._busy:
            connection = self._kept
            if connection is not None and connection.is_open:
                try:
                    return await connection.send(self._bytes(path))
                except ConnectionClosed as error:
                    if error.begun:
                        raise
            self._kept = result = await self._connect()
            return await result.send(self._bytes(path))

    def close(self) -> None:
        """Close the kept connection."""
        if self._kept is not None:
            self._kept.abort()
            self._kept = None

    def _bytes(self, path: str) -> bytes:
        base = self._base
        head = f"GET {base.path.rstrip('/')}{path} HTTP/1.1\r\nhost: {base.netloc}\r\n"
        return f"{head}{self._headers}\r\n".encode("latin-1")

    async def _connect(self) -> _Connection:
        host = self._base.hostname or ""
        loop = asyncio.get_running_loop()
        _, result = await loop.create_connection(
            _Connection,
            host,
            self._base.port or 443,
            ssl=self._tls,
            server_hostname=self._name or host,
        )
        return result


class _Connection(asyncio.Protocol):
    """A minimal HTTP/1.1 connection for GET requests."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[Answer] | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._began = False
        self._type = ""
        self._body = b""
        self._came = 0

    @property
    def is_open(self) -> bool:
        """Whether the other side has not closed the connection."""
        return self._transport is not None and not self._transport.is_closing()

    async def send(self, request: bytes) -> Answer:
        """Send a request; cancelling the call closes the connection."""
        assert self._transport is not None
        self._began, self._type, self._body, self._came = False, "", b"", 0
        answer = self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        try:
            result: Answer = await answer
        except BaseException:
            self.abort()
            raise
        return result

    def abort(self) -> None:
        """Close the connection at once: TLS would wait for the close message of the server."""
        self._answer = None
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop has its own classes
        notice_dead_peer_of(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._fail(ConnectionClosed(exc, begun=self._began))

    def data_received(self, data: bytes) -> None:
        if self._answer is None:  # no request is pending
            self.abort()
            return
        self._came += len(data)
        if self._came > MAX_BYTES:  # includes the head, whose size the parser does not limit
            self._fail(NoHttp(f"the answer is longer than {MAX_BYTES} bytes"))
            return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._fail(NoHttp("the answer is not HTTP/1.1"))

    def on_message_begin(self) -> None:
        self._began = True

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"content-type":
            self._type = value.decode("latin-1")

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        answer, self._answer = self._answer, None
        if answer is not None and not answer.done():
            answer.set_result((self._parser.get_status_code(), self._type, self._body))
        if not self._parser.should_keep_alive() and self._transport is not None:
            self._transport.close()

    def _fail(self, error: Exception) -> None:
        answer, self._answer = self._answer, None
        if answer is not None and not answer.done():
            answer.set_exception(error)
