"""Serves an extension on a port, with a minimal HTTP/1.1 protocol of its own.

A full ASGI server takes more time than most hooks do. uvicorn runs this protocol in place of its
own; it calls `Application.answer` directly. Requests of one connection are answered in order; an
idle connection is closed after a while.
"""

from __future__ import annotations

import asyncio
from collections import deque
from functools import partial
from http import HTTPStatus
from typing import Any, Final, NamedTuple, cast
from urllib.parse import unquote

import httptools
from uvicorn import Config
from uvicorn.server import ServerState

from kapy.apps.https.serving import serve
from kapy.hooks.application import Answer, Application
from kapy.hooks.extension import MAX_BODY

IDLE_SECONDS: Final = 120.0
"""A connection without a whole request for so long is closed, after twice that at the latest: more
than clients keep connections that they do not use."""
MAX_HEAD_BYTES: Final = 1 << 20
"""Bytes that may come before a request's head is whole: far more than one has."""
FIRST_REQUEST_SECONDS: Final = 30.0
"""Seconds for which a new connection may stay without a whole request."""
_REASONS: Final = {item.value: f"{item.value} {item.phrase}".encode() for item in HTTPStatus}
_EXPECT: Final = b"expect"
_CLOSE: Final = b"connection: close\r\n"
_HEAD: Final = b"HTTP/1.1 %b\r\ncontent-type: %b\r\ncontent-length: %d\r\n%b\r\n"
_BAD_REQUEST: Final[Answer] = 400, b"text/plain; charset=utf-8", b"this is no HTTP request"
_INTERNAL_ERROR: Final[Answer] = 500, b"text/plain; charset=utf-8", b"internal error: see the log"


class _Request(NamedTuple):
    method: str
    path: str
    body: bytes
    keep_alive: bool


_NO_REQUEST: Final = _Request("", "", b"", keep_alive=False)


class HookProtocol(asyncio.Protocol):
    """The HTTP/1.1 protocol of one client connection, which uvicorn runs."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],  # noqa: ARG002
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self._application = cast(Application, config.loaded_app)
        self._server = server_state
        self._loop = _loop or asyncio.get_running_loop()
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport = cast(asyncio.Transport, None)
        self._waiting: deque[_Request] = deque()
        self._answering: asyncio.Task[None] | None = None
        self._may_write = asyncio.Event()
        self._may_write.set()
        self._ends = False
        self._asked = False
        self._active = self._loop.time()
        self._look: asyncio.TimerHandle | None = None
        self._url, self._body, self._size = b"", list[bytes](), 0
        self._head: int | None = 0

    # the connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._server.connections.add(cast(Any, self))
        self._schedule_idle_check(FIRST_REQUEST_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """A call that is under way continues, because its work may be half done."""
        self._server.connections.discard(cast(Any, self))
        self._ends = True
        self._waiting.clear()
        self._may_write.set()
        if self._look is not None:
            self._look.cancel()

    def pause_writing(self) -> None:
        self._may_write.clear()

    def resume_writing(self) -> None:
        self._may_write.set()

    def shutdown(self) -> None:
        """Answer the requests that are under way, and close."""
        self._ends = True
        if self._answering is None:
            self._transport.close()

    @property
    def has_received_request(self) -> bool:
        """Whether the connection ever received a complete request."""
        return self._asked

    @property
    def is_busy(self) -> bool:
        """Whether a request is under way."""
        return self._answering is not None

    def _schedule_idle_check(self, seconds: float) -> None:
        # A timer: no event shows that a peer vanished, or never completes its request.
        self._look = self._loop.call_later(seconds, self._close_if_idle)

    def _close_if_idle(self) -> None:
        patience = IDLE_SECONDS if self._asked else 0.0
        if self._answering is None and self._loop.time() - self._active >= patience:
            self._transport.close()
        else:
            self._schedule_idle_check(IDLE_SECONDS)

    # requests

    def data_received(self, data: bytes) -> None:
        try:
            if self._head is not None:
                self._head += len(data)
                if self._head > MAX_HEAD_BYTES:
                    raise httptools.HttpParserError("the head has no end")
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._write(_NO_REQUEST, _BAD_REQUEST)

    def on_message_begin(self) -> None:
        self._url, self._body, self._size = b"", [], 0

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:  # noqa: ARG002
        if len(name) == len(_EXPECT) and name.lower() == _EXPECT:
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_headers_complete(self) -> None:
        self._head = None

    def on_body(self, body: bytes) -> None:
        if self._size <= MAX_BODY:  # the rest of a body that is too large is dropped
            self._body.append(body)
            self._size += len(body)

    def on_message_complete(self) -> None:
        self._head = 0
        self._asked = True
        self._active = self._loop.time()
        path = self._url.partition(b"?")[0].decode("latin-1")
        path = unquote(path) if "%" in path else path
        body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
        method = self._parser.get_method().decode("latin-1")
        request = _Request(method, path, body, self._parser.should_keep_alive())
        if self._answering is not None:
            self._waiting.append(request)
            self._transport.pause_reading()
        elif (at_once := self._immediate_answer(request)) is not None:
            self._write(request, at_once)
        else:
            self._waiting.append(request)
            self._answering = self._loop.create_task(self._answer_all())
            self._server.tasks.add(self._answering)  # uvicorn waits for them when it stops

    def _immediate_answer(self, request: _Request) -> Answer | None:
        if not self._may_write.is_set():
            return None
        return self._application.answer_at_once(request.method, request.path, request.body)

    # answers

    async def _answer_all(self) -> None:
        """Answer the queued requests in order."""
        try:
            while self._waiting:
                await self._may_write.wait()
                request = self._waiting.popleft()
                self._write(request, await self._answer(request))
            if not self._ends:
                self._transport.resume_reading()
        finally:
            self._server.tasks.discard(cast("asyncio.Task[None]", self._answering))
            self._answering = None

    async def _answer(self, request: _Request) -> Answer:
        try:
            return await self._application.answer(request.method, request.path, request.body)
        except Exception as error:
            self._loop.call_exception_handler({"message": "a request failed", "exception": error})
            return _INTERNAL_ERROR

    def _write(self, request: _Request, answer: Answer) -> None:
        if self._transport.is_closing():
            return
        status, kind, body = answer
        ends = self._ends or not request.keep_alive
        head = _HEAD % (_REASONS[status], kind, len(body), _CLOSE if ends else b"")
        self._transport.write(head if request.method == "HEAD" else head + body)
        if ends:
            self._waiting.clear()
            self._transport.close()


serve_extension: Final = partial(serve, protocol=HookProtocol)
"""As `serving`, with a protocol that costs less than ASGI's."""
