"""Handles requests that other processes of this program forward, with an ASGI application."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol

import msgspec

from kapy.apiserver.serving.asgi_messages import Message, Receive, Scope, Send
from kapy.apiserver.serving.forwarding_messages import (
    WINDOW,
    ForwardedMessage,
    ForwardedRequest,
    ForwardedResponse,
    SendFrame,
    pack,
    pack_part,
    read_part,
    read_request,
)
from kapy.kube.http import User

_log = logging.getLogger(__name__)
_DISCONNECT: Final = {"type": "http.disconnect"}


class Application(Protocol):
    """The ASGI application that handles the forwarded requests."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one forwarded HTTP request."""


class ForwardedRequests:
    """The requests that one other process forwards, and their responses. send: sends a message to
    that process. wait_for_room: waits while many messages to that process are queued, so that
    responses do not pile up.
    """

    def __init__(
        self,
        application: Application,
        send: SendFrame,
        wait_for_room: Callable[[], Awaitable[None]],
    ) -> None:
        self._application = application
        self._send = send
        self._wait_for_room = wait_for_room
        self._exchanges: dict[int, _Exchange] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def receive(self, kind: int, number: int, content: bytes) -> None:
        """Handle a message of the other process; those of ended exchanges are dropped."""
        if kind != ForwardedMessage.REQUEST:
            exchange = self._exchanges.get(number)
            if exchange is not None:
                exchange.take(kind, content)
            return
        request = read_request(content)
        exchange = _Exchange(number, request, self._send, self._wait_for_room)
        self._exchanges[number] = exchange
        task = asyncio.get_running_loop().create_task(self._answer(number, exchange))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def lose(self) -> None:
        """Handle the end of the other process: all of its clients have disconnected."""
        for exchange in tuple(self._exchanges.values()):
            exchange.take(ForwardedMessage.GONE, b"")

    async def finish(self) -> None:
        """Wait until every request has its response."""
        while self._tasks:
            await asyncio.wait(tuple(self._tasks))

    async def _answer(self, number: int, exchange: _Exchange) -> None:
        try:
            await self._application(exchange.scope(), exchange.receive, exchange.send)
        except Exception:
            _log.exception("a forwarded request failed")
        finally:
            self._exchanges.pop(number, None)
            exchange.end()


class _Exchange:
    """One request and its response, in the process that handles the request."""

    def __init__(
        self,
        number: int,
        request: ForwardedRequest,
        send: SendFrame,
        wait_for_room: Callable[[], Awaitable[None]],
    ) -> None:
        self._number = number
        self._request = request
        self._send = send
        self._wait_for_room = wait_for_room
        self._parts: deque[tuple[bytes, bool]] = deque([(request.body, request.more)])
        self._news = asyncio.Event()
        self._start: Message | None = None
        self._under_way = 0
        self._stream: _ForwardedStream | None = None
        self._is_gone = self._is_complete = False

    def scope(self) -> Scope:
        """Return the ASGI scope."""
        request = self._request
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": request.http_version,
            "method": request.method,
            "scheme": request.scheme,
            "path": request.path,
            "raw_path": request.raw_path,
            "query_string": request.query,
            "root_path": "",
            "headers": request.headers,
            "client": request.client,
            "server": None,
            "state": {
                "peer": request.peer,
                "abort": self._abort,
                "hand_over": self._hand_over,
                "introduce": _accept_user,
            },
        }

    def take(self, kind: int, content: bytes) -> None:
        """Handle a message of the process that has the client."""
        if kind == ForwardedMessage.BODY:
            self._parts.append(read_part(content))
        elif kind == ForwardedMessage.TAKEN:
            self._under_way -= msgspec.msgpack.decode(content, type=int)
        elif kind == ForwardedMessage.GONE:
            self._is_gone = True
        if self._stream is not None:
            self._stream.take(kind, content)
        self._news.set()

    async def receive(self) -> Message:
        """Return the next part of the body, or that the client has disconnected."""
        if not self._parts and not self._is_gone:
            self._send(ForwardedMessage.WANT, self._number, b"")
            while not self._parts and not self._is_gone:
                await self._wait()
        if not self._parts:
            return dict(_DISCONNECT)
        body, more = self._parts.popleft()
        return {"type": "http.request", "body": body, "more_body": more}

    async def send(self, message: Message) -> None:
        """Send a part of the response; wait while the client does not take it."""
        if self._is_gone:
            return
        if message["type"] == "http.response.start":
            self._start = message
            if _has_length(message):
                return  # it is sent together with the body
            body, more = b"", True
        else:
            body, more = message.get("body", b""), message.get("more_body", False)
        await self._wait_for_room()
        if self._is_gone:
            return
        start, self._start = self._start, None
        if start is not None:
            response = ForwardedResponse(start["status"], list(start["headers"]), body, more)
            self._send(ForwardedMessage.RESPONSE, self._number, pack(response))
        else:
            self._send(ForwardedMessage.CHUNK, self._number, pack_part(body, more=more))
        self._is_complete = not more
        if more:
            self._under_way += len(body)
            while self._under_way > WINDOW and not self._is_gone:
                await self._wait()

    def end(self) -> None:
        """End the exchange; a response that is not complete closes the client's connection."""
        if self._stream is not None:
            self._stream.close()
        elif not self._is_complete and not self._is_gone:
            self._send(ForwardedMessage.ABORT, self._number, b"")

    async def _wait(self) -> None:
        self._news.clear()
        await self._news.wait()

    def _abort(self) -> None:
        self._is_gone = True
        self._news.set()
        self._send(ForwardedMessage.ABORT, self._number, b"")

    def _hand_over(self, protocol: asyncio.Protocol, head: bytes) -> None:
        self._send(ForwardedMessage.UPGRADE, self._number, head)
        self._stream = _ForwardedStream(self._number, self._send, protocol, self._wait_for_room)
        protocol.connection_made(self._stream)


def _accept_user(user: User) -> bool:
    """Accept any user. The process with the client's connection limits the users."""
    del user
    return True


def _has_length(message: Message) -> bool:
    return any(name == b"content-length" for name, _ in message["headers"])


class _ForwardedStream(asyncio.Transport):
    """A client's connection after an upgrade, as a transport of the protocol that uses it.

    Writing is paused while the client does not read, or while many messages to the process with the
    client are queued.
    """

    def __init__(
        self,
        number: int,
        send: SendFrame,
        protocol: asyncio.Protocol,
        wait_for_room: Callable[[], Awaitable[None]],
    ) -> None:
        super().__init__()
        self._number = number
        self._send = send
        self._protocol: Any = protocol
        self._wait_for_room = wait_for_room
        self._waiting: asyncio.Task[None] | None = None
        self._is_client_slow = self._is_paused = self._is_closing = False

    def take(self, kind: int, content: bytes) -> None:
        """Handle a message of the process that has the client."""
        if kind == ForwardedMessage.GONE:
            self._lose()
        elif self._is_closing:
            return
        elif kind == ForwardedMessage.DATA:
            self._protocol.data_received(content)
        elif kind in (ForwardedMessage.PAUSE, ForwardedMessage.RESUME):
            self._is_client_slow = kind == ForwardedMessage.PAUSE
            self._update_writing()

    def write(self, data: Any) -> None:
        """Send bytes to the client."""
        if self._is_closing:
            return
        self._send(ForwardedMessage.DATA, self._number, bytes(data))
        if self._waiting is None:
            self._waiting = asyncio.get_running_loop().create_task(self._wait())
            self._update_writing()

    def pause_reading(self) -> None:
        """Make the process with the client stop reading from the client."""
        self._send(ForwardedMessage.PAUSE, self._number, b"")

    def resume_reading(self) -> None:
        """Make the process with the client read from the client again."""
        self._send(ForwardedMessage.RESUME, self._number, b"")

    def is_closing(self) -> bool:
        """Report whether the connection is closed or being closed."""
        return self._is_closing

    def close(self) -> None:
        """Close the connection after what was written is sent."""
        if not self._is_closing:
            self._send(ForwardedMessage.CLOSE, self._number, b"")
            asyncio.get_running_loop().call_soon(self._lose)
            self._is_closing = True

    def abort(self) -> None:
        """Close the connection at once."""
        if not self._is_closing:
            self._send(ForwardedMessage.ABORT, self._number, b"")
            asyncio.get_running_loop().call_soon(self._lose)
            self._is_closing = True

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return the default: the information about the connection is in another process."""
        del name
        return default

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """Set the protocol that receives the client's bytes."""
        self._protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        """Return the protocol that receives the client's bytes."""
        result: asyncio.BaseProtocol = self._protocol
        return result

    async def _wait(self) -> None:
        await self._wait_for_room()
        self._waiting = None
        self._update_writing()

    def _update_writing(self) -> None:
        is_paused = self._is_client_slow or self._waiting is not None
        if is_paused == self._is_paused or self._is_closing:
            return
        self._is_paused = is_paused
        if is_paused:
            self._protocol.pause_writing()
        else:
            self._protocol.resume_writing()

    def _lose(self) -> None:
        self._is_closing = True
        if self._waiting is not None:
            self._waiting.cancel()
        protocol, self._protocol = self._protocol, _Nobody()
        protocol.connection_lost(None)


class _Nobody(asyncio.Protocol):
    """A protocol that ignores all data, for a connection that has ended."""
