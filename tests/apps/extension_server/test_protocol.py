"""HTTP as servers of extensions speak it: every request has its answer, in order, and none is
waited for that does not come."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import httptools
import pytest
from uvicorn import Config
from uvicorn.server import ServerState

from kapy.apps.extension_server.serving import (
    FIRST_REQUEST_SECONDS,
    IDLE_SECONDS,
    MAX_HEAD_BYTES,
    HookProtocol,
)
from kapy.hooks import (
    BEFORE_CLUSTER_CREATE,
    DISCOVERY,
    Application,
    BeforeClusterCreateRequest,
    Extension,
    RetryResponse,
)
from kapy.hooks.extension import MAX_BODY

READ = 1 << 18
"""Bytes that asyncio reads at once."""
CREATE = BEFORE_CLUSTER_CREATE.path("quota")
BODY = BEFORE_CLUSTER_CREATE.encode_request(BeforeClusterCreateRequest(cluster={}))


class Transport:
    """A transport that records the data written to it, and whether reading is enabled."""

    def __init__(self) -> None:
        self.written = b""
        self.closed = False
        self.reading = True

    def write(self, data: bytes) -> None:
        self.written += data

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True


class Answers:
    """The answers in what was written."""

    def __init__(self, written: bytes) -> None:
        self.found: list[tuple[int, bytes]] = []
        self._body = b""
        self._parser = httptools.HttpResponseParser(self)
        self._parser.feed_data(written)

    def on_message_begin(self) -> None:
        self._body = b""

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        self.found.append((self._parser.get_status_code(), self._body))


class Connection:
    """A connection to an extension whose handler answers only while it may."""

    def __init__(self) -> None:
        self.may = asyncio.Event()
        self.may.set()
        extension = Extension()

        @extension.handles(BEFORE_CLUSTER_CREATE, name="quota")
        async def quota(request: BeforeClusterCreateRequest) -> RetryResponse:
            await self.may.wait()
            return RetryResponse.wait(60, request.settings.get("say", "no quota"))

        config = Config(Application(extension), interface="asgi3", proxy_headers=False)
        config.load()
        self.state, self.transport = ServerState(), Transport()
        self.protocol = HookProtocol(config, self.state, {})
        self.protocol.connection_made(cast(asyncio.Transport, self.transport))

    async def send(self, *parts: bytes) -> None:
        for part in parts:
            for at in range(0, len(part), READ):
                self.protocol.data_received(part[at : at + READ])
        await asyncio.sleep(0.01)

    @property
    def answers(self) -> list[tuple[int, bytes]]:
        return Answers(self.transport.written).found


def post(path: str, body: bytes = BODY, *headers: str, version: str = "1.1") -> bytes:
    lines = [f"POST {path} HTTP/{version}", "host: e", f"content-length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


async def test_requests_are_answered_in_their_order_however_they_come() -> None:
    connection = Connection()
    bodies = [BODY[:-1] + b',"settings":{"say":"%d"}}' % number for number in range(3)]
    stream = b"".join(post(f"{CREATE}?timeout=10s", data) for data in bodies)
    await connection.send(*(bytes([number]) for number in stream))
    assert [
        b'"message":"%d"' % number in body for number, (_, body) in enumerate(connection.answers)
    ]
    assert connection.transport.reading
    connection.may.clear()
    await connection.send(stream + post(DISCOVERY.path(), b"{}"))
    assert (len(connection.answers), connection.transport.reading) == (3, False)
    connection.may.set()
    await asyncio.sleep(0)
    await connection.send()
    assert (len(connection.answers), connection.transport.reading) == (7, True)
    assert b'"name":"quota"' in connection.answers[-1][1]
    assert not connection.transport.closed


CHUNKED = f"POST {CREATE} HTTP/1.1\r\nhost: e\r\ntransfer-encoding: chunked\r\n\r\n".encode()


@pytest.mark.parametrize(
    ("request_", "status", "part", "closed"),
    [
        (post(CREATE), 200, b"no quota", False),
        (post(CREATE.replace("quota", "q%75ota")), 200, b"no quota", False),
        (CHUNKED + b"%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY), 200, b"no quota", False),
        (post(CREATE, BODY, "connection: close"), 200, b"no quota", True),
        (post(CREATE, version="1.0"), 200, b"no quota", True),
        (post(CREATE, b"?"), 200, b"is not JSON", False),
        (post(CREATE, b" " * (MAX_BODY + 1)), 200, b"it is larger than", False),
        (post(DISCOVERY.path(), b"?"), 200, b"is not JSON", False),
        (post("/nowhere"), 404, b"no handler is at /nowhere", False),
        (b"GET /readyz HTTP/1.1\r\nhost: e\r\n\r\n", 200, b"ok", False),
        (b"PUT /readyz HTTP/1.1\r\nhost: e\r\n\r\n", 405, b"POST, not with PUT", False),
        (b"POST /" + b"x" * MAX_HEAD_BYTES, 400, b"this is no HTTP request", True),
        (b"SSH-2.0-OpenSSH_9.6\r\n", 400, b"this is no HTTP request", True),
        (post(CREATE, BODY, "content-length: 3"), 400, b"this is no HTTP request", True),
    ],
)
async def test_requests_get_the_right_status(
    request_: bytes, status: int, part: bytes, closed: bool
) -> None:
    connection = Connection()
    await connection.send(request_)
    ((number, body),) = connection.answers
    assert number == status
    assert part in body
    assert connection.transport.closed == closed


async def test_a_head_request_gets_no_body() -> None:
    connection = Connection()
    await connection.send(b"HEAD /healthz HTTP/1.1\r\nhost: e\r\n\r\n")
    head, _, body = connection.transport.written.partition(b"\r\n\r\n")
    assert (head[:12], body) == (b"HTTP/1.1 405", b"")


async def test_expect_100_continue_is_answered() -> None:
    connection, request = Connection(), post(CREATE, BODY, "Expect: 100-continue")
    await connection.send(request[: -len(BODY)])
    assert connection.transport.written == b"HTTP/1.1 100 Continue\r\n\r\n"
    await connection.send(BODY)
    assert connection.answers[-1][0] == 200


@pytest.mark.parametrize("begun", [b"", post(CREATE), post(CREATE)[:-1], b"POST /"])
async def test_a_connection_without_a_request_is_closed(begun: bytes) -> None:
    connection = Connection()
    await connection.send(begun)
    whole = begun == post(CREATE)
    patience = IDLE_SECONDS if whole else FIRST_REQUEST_SECONDS
    await asyncio.sleep(patience / 2)
    assert not connection.transport.closed
    await asyncio.sleep(1.6 * patience)
    assert connection.transport.closed


async def test_a_connection_with_a_running_call_is_not_idle() -> None:
    connection = Connection()
    connection.may.clear()
    await connection.send(post(CREATE))
    await asyncio.sleep(5 * IDLE_SECONDS)
    connection.may.set()
    await connection.send()
    assert len(connection.answers) == 1


async def test_a_shutdown_finishes_running_requests() -> None:
    busy, idle = Connection(), Connection()
    busy.may.clear()
    await busy.send(post(CREATE))
    for connection in (busy, idle):
        connection.protocol.shutdown()
    assert (busy.transport.closed, idle.transport.closed) == (False, True)
    assert len(busy.state.tasks) == 1
    busy.may.set()
    await busy.send()
    assert b"connection: close" in busy.transport.written
    assert (busy.transport.closed, busy.state.tasks) == (True, set())


async def test_responses_wait_for_a_client_that_does_not_read() -> None:
    connection = Connection()
    connection.protocol.pause_writing()
    await connection.send(post(DISCOVERY.path(), b"{}"))
    assert connection.answers == []
    connection.protocol.resume_writing()
    await connection.send()
    assert len(connection.answers) == 1


async def test_a_disconnected_client_leaves_nothing_behind() -> None:
    connection = Connection()
    connection.may.clear()
    await connection.send(post(CREATE), post(CREATE))
    connection.transport.close()
    connection.protocol.connection_lost(None)
    assert connection.state.connections == set()
    connection.may.set()
    await connection.send()
    result: Any = (connection.transport.written, connection.state.tasks)
    assert result == (b"", set())
