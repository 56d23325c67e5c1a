"""gRPC calls with one request and one response, on any stream of bytes (HTTP/2 by h2).

* GrpcError     the other side answered with a status that is not OK, or with no gRPC at all
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple
from urllib.parse import quote, unquote

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    RequestReceived,
    ResponseReceived,
    StreamEnded,
    StreamReset,
    TrailersReceived,
)
from h2.exceptions import H2Error

from kapy._aio.byte_streams import ByteStream
from kapy.kube.errors import KapyError

OK, INTERNAL, UNIMPLEMENTED = 0, 13, 12
_KIND: Final = "application/grpc"
_LARGEST: Final = 4 << 20
_STATUS: Final = re.compile(r"[0-9]{1,9}")


class GrpcError(KapyError):
    """A gRPC call failed. status: the gRPC status code."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message or f"gRPC status {status}")
        self.status = status


class GrpcClient:
    """Calls methods on one connection, one at a time. authority: the name of the server."""

    def __init__(self, stream: ByteStream, authority: str) -> None:
        self._stream = stream
        self._authority = authority
        self._http = H2Connection(H2Configuration(client_side=True, header_encoding=None))
        self._http.initiate_connection()

    async def call(self, method: str, message: bytes) -> bytes:
        """Call the method `/package.Service/Method`; return the response message. Raises GrpcError,
        and OSError if the connection breaks.
        """
        try:
            number = self._ask(method, message)
            return await self._answer(number)
        except H2Error as error:
            raise GrpcError(INTERNAL, f"the other side does not speak HTTP/2: {error}") from None

    def close(self) -> None:
        """Close the connection to the server."""
        self._stream.close()

    def _ask(self, method: str, message: bytes) -> int:
        number = self._http.get_next_available_stream_id()
        headers = [
            (":method", "POST"),
            (":scheme", "https"),
            (":authority", self._authority),
            (":path", method),
            ("te", "trailers"),
            ("content-type", _KIND),
        ]
        self._http.send_headers(number, headers)
        self._http.send_data(number, _frame(message), end_stream=True)
        self._stream.write(self._http.data_to_send())
        return number

    async def _answer(self, number: int) -> bytes:
        answer = _Answer()
        while not answer.ended:
            data = await self._stream.read()
            if not data:
                raise ConnectionResetError("the other side hung up")
            for event in self._http.receive_data(data):
                if isinstance(event, DataReceived):
                    size = event.flow_controlled_length or 0
                    self._http.acknowledge_received_data(size, event.stream_id or number)
                answer.take(event)
            self._stream.write(self._http.data_to_send())
        return answer.message()


@dataclass
class _Answer:
    headers: dict[str, str] = field(default_factory=dict)
    body: bytearray = field(default_factory=bytearray)
    ended: bool = False

    def take(self, event: Event) -> None:
        if isinstance(event, ResponseReceived | TrailersReceived):
            self.headers.update(_texts(event.headers))
        elif isinstance(event, DataReceived):
            self.body += event.data or b""
            if len(self.body) > _LARGEST:
                raise GrpcError(INTERNAL, f"the answer is larger than {_LARGEST} bytes")
        elif isinstance(event, StreamReset | ConnectionTerminated):
            raise ConnectionResetError("the other side ended the call")
        elif isinstance(event, StreamEnded):
            self.ended = True

    def message(self) -> bytes:
        status = self.headers.get("grpc-status")
        if status is None or not _STATUS.fullmatch(status):
            code = self.headers.get(":status", "no status")
            raise GrpcError(INTERNAL, f"who answers does not speak gRPC (HTTP {code})")
        if int(status) != OK:
            raise GrpcError(int(status), unquote(self.headers.get("grpc-message", "")))
        return _unframe(bytes(self.body))


class Call(NamedTuple):
    """A call that a server receives. authority: the server name that the client used."""

    method: str
    authority: str
    message: bytes


Answer = Callable[[Call], Awaitable[bytes]]
"""Handles a call: returns the response message, or raises GrpcError."""


async def serve_grpc(stream: ByteStream, answer: Answer) -> None:
    """Serve the calls of one connection until the client ends it. answer: handles each call."""
    http = H2Connection(H2Configuration(client_side=False, header_encoding=None))
    http.initiate_connection()
    stream.write(http.data_to_send())
    calls: dict[int, tuple[dict[str, str], bytearray]] = {}
    while data := await stream.read():
        try:
            events = http.receive_data(data)
        except H2Error:
            return
        for event in events:
            if isinstance(event, RequestReceived):
                calls[event.stream_id or 0] = dict(_texts(event.headers)), bytearray()
            elif isinstance(event, DataReceived):
                number = event.stream_id or 0
                http.acknowledge_received_data(event.flow_controlled_length or 0, number)
                body = calls[number][1]
                body.extend(event.data or b"")
                if len(body) > _LARGEST:
                    return
            elif isinstance(event, StreamEnded):
                number = event.stream_id or 0
                headers, body = calls.pop(number)
                try:
                    await _answer_call(http, number, headers, bytes(body), answer)
                except H2Error:
                    return  # the client has ended the stream or accepts no data
            elif isinstance(event, StreamReset):
                calls.pop(event.stream_id or 0, None)
        stream.write(http.data_to_send())


async def _answer_call(
    http: H2Connection, number: int, headers: dict[str, str], body: bytes, answer: Answer
) -> None:
    begin = [(":status", "200"), ("content-type", _KIND)]
    try:
        call = Call(headers.get(":path", ""), headers.get(":authority", ""), _unframe(body))
        message = await answer(call)
    except GrpcError as error:
        result = [("grpc-status", str(error.status)), ("grpc-message", quote(str(error), safe=" "))]
        http.send_headers(number, [*begin, *result], end_stream=True)
        return
    http.send_headers(number, begin)
    http.send_data(number, _frame(message))
    http.send_headers(number, [("grpc-status", str(OK))], end_stream=True)


def _frame(message: bytes) -> bytes:
    return b"\x00" + len(message).to_bytes(4, "big") + message


def _unframe(body: bytes) -> bytes:
    """Return the only message in a response body. Raises GrpcError."""
    if len(body) < 5 or len(body) != 5 + int.from_bytes(body[1:5], "big"):
        raise GrpcError(INTERNAL, "the body is not one gRPC message")
    if body[0]:
        raise GrpcError(UNIMPLEMENTED, "compressed messages are not read here")
    return body[5:]


def _texts(headers: Sequence[tuple[str | bytes, str | bytes]] | None) -> list[tuple[str, str]]:
    return [(_text(name), _text(value)) for name, value in headers or ()]


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("latin-1")
