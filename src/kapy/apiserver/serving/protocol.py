"""HTTP/1.1 on one connection: the client certificate, timeouts and size limits.

Errors before a request is complete are answered here with a Status and close the connection:
malformed, too large or slow request heads.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any, Final

import httptools
import msgspec
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from kapy.apiserver.auth.authentication import certificate_user
from kapy.apiserver.serving.connection_limit import Connection
from kapy.apiserver.serving.immediate_request import ImmediateReader, immediate_request
from kapy.kube import Document
from kapy.kube.http import User

HEAD_LIMIT: Final = 1 << 20
"""The most bytes of a request's head, as in Go's server."""

URL_LIMIT: Final = (1 << 16) - 1
"""The most bytes of a URL."""

FIRST_SECONDS: Final = 10.0
"""The timeout in seconds for the first request head of a client without a certificate."""
HEAD_SECONDS: Final = 32.0
BODY_SECONDS: Final = 60.0
"""Timeouts in seconds for a request's head and body, as in kube-apiserver."""

_NO_ESCAPE: Final = re.compile(rb"%(?![0-9a-fA-F]{2})")
_VERSIONS: Final = ("1.0", "1.1")


class HTTPProtocol(HttpToolsProtocol):
    """HTTP/1.1 that passes the user of the client certificate to the application."""

    _refusal: tuple[int, str] | None = None
    _begun = _headed = _is_answered = _has_answered = False
    _idle_since: float | None = None
    _received = 0
    _watchdog: asyncio.TimerHandle | None = None
    _watched = ""

    def __init__(self, *arguments: Any, connection: Connection | None = None, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._connection = connection
        self._reader: ImmediateReader | None = (
            self.app if hasattr(self.app, "read_at_once") else None
        )
        self._peer: User | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        tls = transport.get_extra_info("ssl_object")
        result = None if tls is None else tls.getpeercert(binary_form=True)
        peer = None if result is None else certificate_user(tls.getpeercert(), result)
        self._peer = peer
        if peer is not None:
            self.set_user(peer)
        self.app_state = {
            "peer": peer,
            "abort": transport.abort,
            "hand_over": self.hand_over,
            "introduce": self.set_user,
        }
        self._start_timeout("head", HEAD_SECONDS if peer is not None else FIRST_SECONDS)

    def set_user(self, user: User) -> bool:
        """Record the authenticated user; return False if the connection limit for users is
        reached.
        """
        return self._connection is None or self._connection.set_user(user)

    @property
    def has_received_request(self) -> bool:
        """Report whether a complete request has ever arrived."""
        if self._has_answered:
            return True
        return self.cycle is not None and (self.cycle.response_complete or not self.cycle.more_body)

    @property
    def is_busy(self) -> bool:
        """Report whether a request is in progress."""
        return self.cycle is not None and not self.cycle.response_complete

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timeout()
        self._stop_idle_timer()
        super().connection_lost(exc)

    def hand_over(self, protocol: asyncio.Protocol, head: bytes) -> None:
        """Send this response head and hand the connection to another protocol."""
        self._stop_timeout()
        self._stop_idle_timer()
        self.connections.discard(self)
        self.cycle.disconnected = True
        self.transport.write(head)
        self.transport.set_protocol(protocol)
        protocol.connection_made(self.transport)

    def data_received(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self.cycle.keep_alive = False  # only HTTP/1.1 is supported
        except httptools.HttpParserError:
            self._refuse(*self._refusal or (400, "the request is not well-formed HTTP/1.1"))
            return
        if self._begun:
            self._check_incomplete(len(data))
        elif self._watchdog is not None:
            self._stop_timeout()

    def _check_incomplete(self, size: int) -> None:
        """Check the size of an incomplete request and start its timeout."""
        if self._headed:
            self._start_timeout("body", BODY_SECONDS)
            return
        self._received += size
        if self._received > HEAD_LIMIT:
            self._refuse(431, f"the request's head is larger than {HEAD_LIMIT} bytes")
        else:
            self._start_timeout("head", HEAD_SECONDS)

    def on_message_begin(self) -> None:
        self.url, self.headers = b"", []
        self.expect_100_continue = False
        self._begun, self._headed, self._received = True, False, 0

    def on_url(self, url: bytes) -> None:
        self.url += url
        if len(self.url) > URL_LIMIT:
            raise self._parse_error(f"the URL is longer than {URL_LIMIT} bytes", 414)

    def on_headers_complete(self) -> None:
        self._headed = True
        version = self.parser.get_http_version()
        if version not in _VERSIONS:
            raise self._parse_error(f"HTTP/{version} is not spoken here, but HTTP/1.1 is")
        hosts = sum(name == b"host" for name, _ in self.headers)
        if hosts != 1 and (hosts or version == "1.1"):
            many = "more than one" if hosts else "no"
            raise self._parse_error(f"the request has {many} Host header")
        if b"%" in self.url and _NO_ESCAPE.search(self.url.partition(b"?")[0]):
            raise self._parse_error("the URL has a % that two hexadecimal digits do not follow")
        if self._reader is not None and version == "1.1" and self._answer_at_once():
            self._is_answered = True
            return
        url, headers, expects = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()  # it makes the scope
        self.url, self.expect_100_continue = url, expects
        self.headers += headers
        super().on_headers_complete()
        if self.scope["method"] != "HEAD":
            self.cycle.transport = _HeadBuffer(self.transport)

    def on_message_complete(self) -> None:
        self._begun = False
        if self._is_answered:
            self._is_answered = False
            return
        super().on_message_complete()

    def _answer_at_once(self) -> bool:
        """Answer a GET of one object; return False if it takes the usual way."""
        if (
            self.parser.get_method() != b"GET"
            or (self.cycle is not None and not self.cycle.response_complete)
            or self.flow.write_paused
            or self.transport.is_closing()
        ):
            return False
        request = immediate_request(self.url, self.headers, self._peer, self.set_user)
        if request is None:
            return False
        assert self._reader is not None
        try:
            result = self._reader.read_at_once(request)
        except Exception:  # the usual way reports it
            return False
        if result is None:
            return False
        audit_id, content = result
        head = _IMMEDIATE_HEAD % (audit_id.encode("ascii"), len(content))
        self.transport.write(head + content)
        self._has_answered = True
        self._begin_idle()
        return True

    def on_response_complete(self) -> None:
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            cycle, app = self.pipeline.pop()
            self._start_asgi_task(cycle, app)
        else:
            self._begin_idle()

    def _unset_keepalive_if_required(self) -> None:
        self._idle_since = None

    def _begin_idle(self) -> None:
        """Close the connection if no request comes. One timer serves many requests: to set one for
        each costs more than to look at the clock.
        """
        self._idle_since = self.loop.time()
        if self.timeout_keep_alive_task is None:
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self._close_if_idle
            )

    def _close_if_idle(self) -> None:
        self.timeout_keep_alive_task = None
        if self._idle_since is None or self.transport.is_closing():
            return
        seconds = self._idle_since + self.timeout_keep_alive - self.loop.time()
        if seconds > 0:
            self.timeout_keep_alive_task = self.loop.call_later(seconds, self._close_if_idle)
        else:
            self.transport.close()

    def _stop_idle_timer(self) -> None:
        self._idle_since = None
        if self.timeout_keep_alive_task is not None:
            self.timeout_keep_alive_task.cancel()
            self.timeout_keep_alive_task = None

    def _parse_error(self, why: str, code: int = 400) -> ValueError:
        """Record the refusal and return the exception that stops the parser.

        The parser does not pass on the exception itself.
        """
        self._refusal = code, why
        return ValueError(why)

    def _refuse(self, code: int, why: str) -> None:
        """Send an error, unless another response is in progress, and close the connection."""
        self._stop_timeout()
        busy = self.cycle is not None and not self.cycle.response_complete
        if not busy or (self._headed and not self.cycle.response_started):
            content = msgspec.json.encode(_status(code, why))
            head = (
                b"content-type: application/json\r\nconnection: close\r\n"
                b"content-length: %d\r\n\r\n" % len(content)
            )
            self.transport.write(STATUS_LINE[code] + head + content)
        if busy:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.transport.close()

    def _start_timeout(self, what: str, seconds: float) -> None:
        """Start the timeout of a part of the request, counted from its beginning."""
        if self._watchdog is not None:
            if self._watched == what:
                return
            self._watchdog.cancel()
        self._watched = what
        self._watchdog = self.loop.call_later(seconds, self._on_timeout)

    def _stop_timeout(self) -> None:
        if self._watchdog is not None:
            self._watchdog.cancel()
            self._watchdog = None

    def _on_timeout(self) -> None:
        self._watchdog = None
        if not self.transport.is_closing():
            self._refuse(408, f"the request's {self._watched} did not come in time")


class _HeadBuffer(asyncio.Transport):
    """A transport that sends a response's head together with its body.

    One packet and system call instead of two save a third of the cost of a GET. A response of
    unknown length (a watch) is not delayed.
    """

    __slots__ = ("_head", "_transport")

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._head: bytes | None = None

    def write(self, data: Any) -> None:
        head = self._head
        if head:
            self._head = b""
            self._transport.write(head + data)
        elif head is None and not data.startswith(_CONTINUE):
            self._head = data if b"\r\ncontent-length: " in data else b""
            if not self._head:
                self._transport.write(data)
        else:
            self._transport.write(data)

    def close(self) -> None:
        if self._head:
            self.write(b"")
        self._transport.close()

    def is_closing(self) -> bool:
        return self._transport.is_closing()


_CONTINUE: Final = b"HTTP/1.1 100 "
_IMMEDIATE_HEAD: Final = (
    b"HTTP/1.1 200 OK\r\naudit-id: %b\r\ncontent-type: application/json\r\n"
    b"content-length: %d\r\n\r\n"
)
_REASONS: Final = {400: "BadRequest", 408: "Timeout"}


def _status(code: int, why: str) -> Document:
    status: Document = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": why,
        "reason": _REASONS.get(code, "RequestEntityTooLarge"),
    }
    return {**status, "code": code}
