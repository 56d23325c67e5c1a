"""Forwards requests to the process that handles them. The forwarder is an ASGI application."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Final

from kapy.apiserver.serving.asgi_messages import Receive, Scope, Send
from kapy.apiserver.serving.forwarding_messages import (
    SMALL_BODY,
    ForwardedMessage,
    ForwardedRequest,
    SendFrame,
    pack,
    pack_part,
    read_part,
    read_response,
)
from kapy.kube.digits import parse_digits

_NUMBERS: Final = 0xFFFFFFFF
_TO_STREAM: Final = frozenset(
    {
        ForwardedMessage.DATA,
        ForwardedMessage.PAUSE,
        ForwardedMessage.RESUME,
        ForwardedMessage.CLOSE,
    }
)


class Forwarder:
    """An ASGI application that forwards requests to another process. send: sends a message to that
    process. drain: waits until that process reads.
    """

    def __init__(self, send: SendFrame, drain: Callable[[], Awaitable[None]]) -> None:
        self._send = send
        self._drain = drain
        self._number = 0
        self._exchanges: dict[int, _Exchange] = {}
        self._lost = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward one HTTP request and send its response."""
        body, more = await _first_part(scope, receive)
        self._number = number = self._number % _NUMBERS + 1
        exchange = self._exchanges[number] = _Exchange(number, self._send, self._drain, receive)
        try:
            self._send(ForwardedMessage.REQUEST, number, pack(_request(scope, body, more)))
            if self._lost:
                exchange.take(ForwardedMessage.ABORT, b"")
            await exchange.run(scope, send)
        finally:
            del self._exchanges[number]
            exchange.end()

    def receive(self, kind: int, number: int, content: bytes) -> None:
        """Handle a message of the other process; those of ended exchanges are dropped."""
        exchange = self._exchanges.get(number)
        if exchange is not None:
            exchange.take(kind, content)

    def lose(self) -> None:
        """Handle the end of the other process: no response is complete."""
        self._lost = True
        for exchange in self._exchanges.values():
            exchange.take(ForwardedMessage.ABORT, b"")


def _request(scope: Scope, body: bytes, more: bool) -> ForwardedRequest:  # noqa: FBT001
    path: str = scope["path"]
    return ForwardedRequest(
        scope["method"],
        path,
        scope.get("raw_path") or path.encode(),
        scope["query_string"],
        scope["headers"],
        scope.get("client"),
        scope.get("scheme") or "https",
        scope.get("http_version") or "1.1",
        scope["state"].get("peer"),
        body,
        more,
    )


async def _first_part(scope: Scope, receive: Receive) -> tuple[bytes, bool]:
    """Return the part of the body that is sent with the request, and whether another part follows:
    a small body as a whole, nothing of a large one, which the other process may refuse.
    """
    length = expect = None
    for name, value in scope["headers"]:
        if name == b"content-length":
            length = parse_digits(value.decode("latin-1"))
        elif name in (b"transfer-encoding", b"expect"):
            expect = value
    if length is None and expect is None:
        return b"", False
    if expect is not None or length is None or length > SMALL_BODY:
        return b"", True
    body, more = b"", length > 0
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return body, True  # the other process learns that when it asks for the rest
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return body, False


class _Exchange:
    """One request and its response, in the process that has the client."""

    def __init__(
        self,
        number: int,
        send: SendFrame,
        drain: Callable[[], Awaitable[None]],
        receive: Receive,
    ) -> None:
        self._number = number
        self._send = send
        self._drain = drain
        self._receive = receive
        self._messages: deque[tuple[int, bytes]] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._listening: asyncio.Task[None] | None = None
        self._stream: _ClientStream | None = None
        self._is_complete = False

    def take(self, kind: int, content: bytes) -> None:
        """Handle a message of the other process."""
        if kind == ForwardedMessage.WANT:
            self._listening = asyncio.get_running_loop().create_task(self._send_next_part())
            return
        if self._stream is not None and (kind in _TO_STREAM or kind == ForwardedMessage.ABORT):
            self._stream.take(kind, content)
            return
        self._messages.append((kind, content))
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def run(self, scope: Scope, send: Send) -> None:
        """Send the response to the client."""
        more = True
        while more:
            kind, content = await self._next()
            if kind == ForwardedMessage.RESPONSE:
                response = read_response(content)
                start = {"type": "http.response.start", "status": response.status}
                await send({**start, "headers": response.headers})
                body, more = response.body, response.more
                if not body and more:
                    continue
            elif kind == ForwardedMessage.CHUNK:
                body, more = read_part(content)
            elif kind == ForwardedMessage.UPGRADE:
                await self._become_stream(scope, content)
                break
            else:
                scope["state"]["abort"]()
                break
            await send({"type": "http.response.body", "body": body, "more_body": more})
            if more:
                self._send(ForwardedMessage.TAKEN, self._number, pack(len(body)))
        self._is_complete = True

    def end(self) -> None:
        """End the exchange, and notify the other process if it has not ended it."""
        if self._listening is not None:
            self._listening.cancel()
        if not self._is_complete:
            self._send(ForwardedMessage.GONE, self._number, b"")

    async def _next(self) -> tuple[int, bytes]:
        while not self._messages:
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        return self._messages.popleft()

    async def _send_next_part(self) -> None:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            self._send(ForwardedMessage.GONE, self._number, b"")
            return
        part = pack_part(message.get("body", b""), more=message.get("more_body", False))
        self._send(ForwardedMessage.BODY, self._number, part)

    async def _become_stream(self, scope: Scope, head: bytes) -> None:
        stream = self._stream = _ClientStream(self._number, self._send, self._drain)
        scope["state"]["hand_over"](stream, head)
        while self._messages:
            stream.take(*self._messages.popleft())
        await stream.ended.wait()


class _ClientStream(asyncio.Protocol):
    """The client's connection after an upgrade: its bytes go to the other process."""

    def __init__(self, number: int, send: SendFrame, drain: Callable[[], Awaitable[None]]) -> None:
        self._number = number
        self._send = send
        self._drain = drain
        self._transport: Any = None
        self._draining: asyncio.Task[None] | None = None
        self._is_paused = False
        self.ended = asyncio.Event()

    def take(self, kind: int, content: bytes) -> None:
        """Handle a message of the other process."""
        if kind == ForwardedMessage.DATA:
            self._transport.write(content)
        elif kind == ForwardedMessage.CLOSE:
            self._transport.close()
        elif kind == ForwardedMessage.ABORT:
            self._transport.abort()
        else:
            self._is_paused = kind == ForwardedMessage.PAUSE
            self._update_reading()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Record the transport of the stream that begins."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Forward the client's bytes, and read no more of them until the other process reads."""
        self._send(ForwardedMessage.DATA, self._number, data)
        if self._draining is None:
            self._draining = asyncio.get_running_loop().create_task(self._wait_for_room())
            self._update_reading()

    def pause_writing(self) -> None:
        """Notify the other process that the client does not read."""
        self._send(ForwardedMessage.PAUSE, self._number, b"")

    def resume_writing(self) -> None:
        """Notify the other process that the client reads again."""
        self._send(ForwardedMessage.RESUME, self._number, b"")

    def connection_lost(self, exc: Exception | None) -> None:
        """Notify the other process that the client has disconnected."""
        del exc
        if self._draining is not None:
            self._draining.cancel()
        self._send(ForwardedMessage.GONE, self._number, b"")
        self.ended.set()

    async def _wait_for_room(self) -> None:
        await self._drain()
        self._draining = None
        self._update_reading()

    def _update_reading(self) -> None:
        if self._transport.is_closing():
            return
        if self._is_paused or self._draining is not None:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()
