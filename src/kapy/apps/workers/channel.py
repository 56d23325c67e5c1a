"""Requests and replies between a plane and one of its worker processes.

Both ends may ask. A request names a target, which its receiver knows: the API server, a simulated
cluster, the metrics of a worker. A watch is a reply followed by events. Documents cross as JSON;
those that the API server keeps as JSON are not encoded again.

The connection is a socket pair that the worker inherits: nobody else can reach it, so what comes
from it is trusted and needs no credentials.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Protocol

import msgspec

from kapy.kube import Document
from kapy.kube.errors import ApiError, Unreachable
from kapy.kube.http import Reply, Request, Transport

API: Final = "api"
CONFIGURATION: Final = "configuration"
HOOK: Final = "hook"
DIAL: Final = "dial"
DIALED: Final = "dialed/"
EXPIRY: Final = "expiry"
"""Targets in the plane: the API server; the worker's configuration; a runtime extension; a new
connection to a simulated cluster, which has a handle; such a connection, by its handle; the end of
the validity of an API server's certificate."""
METRICS: Final = "metrics"
"""The target in a worker."""

READY: Final = "ready"
LOG: Final = "log"
HANG_UP: Final = "hang-up"
"""Notices of a worker: its caches are filled, with its process id; a log record; the handle of a
connection that it does not need any more."""
SERVER: Final = "server"
PUBLISHED: Final = "published"
PROBE: Final = "probe"
"""Notices of the plane: the URL of a simulated cluster, and whether it exists; the address of a
load balancer, and where it is published; a cluster whose API server may have begun or ceased to
answer."""


log = logging.getLogger(__name__)


class Frame:
    """The kinds of frames."""

    ASK: Final = 1
    ANSWER: Final = 2
    FAILURE: Final = 3
    EVENTS: Final = 4
    END: Final = 5
    CANCEL: Final = 6
    NOTICE: Final = 7


Answer = Callable[[str, Request], Awaitable[Reply]]
"""Answers a request to a target. Raises Unreachable and ApiError."""

_encode: Final = msgspec.json.Encoder().encode
_decode_any: Final = msgspec.json.Decoder().decode


class _Ask(msgspec.Struct, array_like=True):
    target: str
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any = None
    raw: bytes | None = None


class _Answer(msgspec.Struct, array_like=True):
    status: int
    headers: Mapping[str, str]
    body: Any = None
    raw: bytes | None = None
    stream: bool = False


class _Notice(msgspec.Struct, array_like=True):
    name: str
    value: Any


_decode_ask: Final = msgspec.json.Decoder(_Ask).decode
_decode_answer: Final = msgspec.json.Decoder(_Answer).decode
_decode_notice: Final = msgspec.json.Decoder(_Notice).decode


class Connection(Protocol):
    """A connection that carries frames: one of `kapy._aio.frames`, or a pair in one process."""

    def send(self, kind: int, number: int, payload: bytes) -> None:
        """Send a frame to the peer."""

    async def drain(self) -> None:
        """Wait until the peer reads."""

    def close(self) -> None:
        """Close the connection."""


class Channel:
    """One end of the connection between a plane and one of its processes.

    answer: answers the peer's requests. notice: receives the peer's notices by name. `connection`
    is set once the frames can flow. closed: set when the connection has ended.
    """

    def __init__(self, answer: Answer, notice: Callable[[str, Any], None]) -> None:
        self.connection: Connection | None = None
        self.closed = asyncio.Event()
        self._answer = answer
        self._notice = notice
        self._number = 0
        self._asked: dict[int, asyncio.Future[_Answer]] = {}
        self._streams: dict[int, EventBody] = {}
        self._answering: dict[int, asyncio.Task[None]] = {}
        self._handlers: dict[int, Callable[[int, bytes], None]] = {
            Frame.ASK: self._on_ask,
            Frame.ANSWER: self._on_answer,
            Frame.FAILURE: self._on_failure,
            Frame.EVENTS: self._on_events,
            Frame.END: self._on_end,
            Frame.CANCEL: self._on_cancel,
            Frame.NOTICE: self._on_notice,
        }

    async def ask(self, target: str, request: Request) -> Reply:
        """Send a request and return its reply. Raises Unreachable."""
        connection = self._open_connection()
        self._number = number = self._number % 0xFFFFFFFF + 1
        body = request.body
        raw = body if isinstance(body, bytes) else None
        ask = _Ask(
            target,
            request.method,
            request.path,
            request.query,
            request.headers,
            None if raw is not None else body,
            raw,
        )
        future = self._asked[number] = asyncio.get_running_loop().create_future()
        connection.send(Frame.ASK, number, _encode(ask))
        try:
            answer = await future
        except asyncio.CancelledError:
            connection.send(Frame.CANCEL, number, b"")
            raise
        finally:
            self._asked.pop(number, None)
        if answer.stream:
            return Reply(answer.status, self._streams[number], answer.headers)
        result = answer.body if answer.raw is None else answer.raw
        return Reply(answer.status, result, answer.headers)

    def notify(self, name: str, value: Any) -> None:
        """Send a notice, which has no reply; it arrives before everything that is sent later."""
        if self.connection is not None:
            self.connection.send(Frame.NOTICE, 0, _encode(_Notice(name, value)))

    def transport(self, target: str) -> Transport:
        """Return a transport whose requests go to a target."""

        async def send(request: Request) -> Reply:
            return await self.ask(target, request)

        return send

    def end(self) -> None:
        """Close the connection to the peer."""
        connection = self.connection
        if connection is not None:
            connection.close()
            self.lose()

    async def finish(self) -> None:
        """Wait until no request of the peer is being answered."""
        while self._answering:
            await asyncio.wait(tuple(self._answering.values()))

    def receive(self, kind: int, number: int, payload: bytes) -> None:
        """Handle a frame of the peer."""
        if not self.closed.is_set():
            self._handlers[kind](number, payload)

    def _on_ask(self, number: int, payload: bytes) -> None:
        task = asyncio.get_running_loop().create_task(self._reply(number, payload))
        self._answering[number] = task

    def _on_answer(self, number: int, payload: bytes) -> None:
        future = self._asked.get(number)
        if future is None or future.done():  # it was cancelled
            return
        answer = _decode_answer(payload)
        if answer.stream:
            self._streams[number] = EventBody(lambda: self._hang_up(number))
        future.set_result(answer)

    def _on_failure(self, number: int, payload: bytes) -> None:
        future = self._asked.get(number)
        if future is not None and not future.done():
            future.set_exception(Unreachable(payload.decode()))

    def _on_events(self, number: int, payload: bytes) -> None:
        stream = self._streams.get(number)
        if stream is not None:
            stream.feed(payload)

    def _on_end(self, number: int, payload: bytes) -> None:
        del payload
        stream = self._streams.pop(number, None)
        if stream is not None:
            stream.end()

    def _on_cancel(self, number: int, payload: bytes) -> None:
        del payload
        running = self._answering.get(number)
        if running is not None:
            running.cancel()

    def _on_notice(self, number: int, payload: bytes) -> None:
        del number
        notice = _decode_notice(payload)
        self._notice(notice.name, notice.value)

    def lose(self) -> None:
        """Handle the end of the connection: pending requests fail, and watches end."""
        if self.closed.is_set():
            return
        self.connection = None
        self.closed.set()
        for future in self._asked.values():
            if not future.done():
                future.set_exception(_closed())
        for stream in self._streams.values():
            stream.end()
        self._streams.clear()
        for task in self._answering.values():
            task.cancel()

    def _open_connection(self) -> Connection:
        if self.connection is None:
            raise _closed()
        return self.connection

    def _hang_up(self, number: int) -> None:
        if self._streams.pop(number, None) is not None and self.connection is not None:
            self.connection.send(Frame.CANCEL, number, b"")

    async def _reply(self, number: int, payload: bytes) -> None:
        try:
            ask = _decode_ask(payload)
            body = ask.body if ask.raw is None else ask.raw
            request = Request(ask.method, ask.path, ask.query, ask.headers, body)
            try:
                reply = await self._answer(ask.target, request)
            except ApiError as error:
                reply = Reply(error.code, error.status())
            await self._send_reply(number, reply)
        except Unreachable as error:
            self._fail(number, str(error))
        except Exception as error:
            log.exception("a request of the other process failed")
            self._fail(number, f"the other process failed: {error}")
        finally:
            self._answering.pop(number, None)

    async def _send_reply(self, number: int, reply: Reply) -> None:
        body = reply.body
        if isinstance(body, dict | bytes):
            raw = body if isinstance(body, bytes) else None
            answer = _Answer(reply.status, reply.headers, body if raw is None else None, raw)
            self._open_connection().send(Frame.ANSWER, number, _encode(answer))
            return
        stream: Any = body
        answer = _Answer(reply.status, reply.headers, stream=True)
        self._open_connection().send(Frame.ANSWER, number, _encode(answer))
        try:
            async for lines in stream.lines():
                connection = self._open_connection()
                connection.send(Frame.EVENTS, number, lines)
                await connection.drain()
        finally:
            await stream.aclose()
            if self.connection is not None:
                self.connection.send(Frame.END, number, b"")

    def _fail(self, number: int, why: str) -> None:
        if self.connection is not None:
            self.connection.send(Frame.FAILURE, number, why.encode())


class EventBody:
    """The events of a watch that the peer sends. hang_up: tells the peer that nobody reads any
    more.
    """

    def __init__(self, hang_up: Callable[[], None]) -> None:
        self._hang_up = hang_up
        self._chunks: deque[bytes] = deque()
        self._lines: deque[bytes] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._ended = False

    def feed(self, chunk: bytes) -> None:
        """Add events from the peer, which are lines of JSON."""
        self._chunks.append(chunk)
        self._wake()

    def end(self) -> None:
        """Handle the end of the watch, which the peer has sent."""
        self._ended = True
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def __aiter__(self) -> EventBody:
        return self

    async def __anext__(self) -> Document:
        while not self._lines:
            if self._chunks:
                self._lines.extend(self._chunks.popleft().splitlines())
            elif self._ended:
                raise StopAsyncIteration
            else:
                self._waiter = asyncio.get_running_loop().create_future()
                await self._waiter
        event: Document = _decode_any(self._lines.popleft())
        return event

    async def aclose(self) -> None:
        """End the watch, and tell the peer."""
        self._ended = True
        self._chunks.clear()
        self._lines.clear()
        self._hang_up()


def _closed() -> Unreachable:
    return Unreachable("the connection to the other process has ended")
