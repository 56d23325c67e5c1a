"""Forwarded requests: bodies, long responses, clients that disconnect, identities, upgrades."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any

import pytest

from kapy.apiserver.serving.forwarded_requests import ForwardedRequests
from kapy.apiserver.serving.forwarder import Forwarder
from kapy.apiserver.serving.forwarding_messages import SMALL_BODY, WINDOW
from kapy.kube.http import User
from tests.apiserver.replicas.beside import replicated
from tests.apiserver.requester import CONFIG_MAPS, config_map

MALLORY = User("mallory", ("system:authenticated",))


class Pair:
    """A forwarder, and an application that answers what it forwards."""

    def __init__(self, application: Any) -> None:
        self.requests = ForwardedRequests(application, self._back, self._wait_for_room)
        self.forwarder = Forwarder(self._forth, self._drain)
        self.sent: list[MutableMapping[str, Any]] = []
        self.reads = asyncio.Event()
        self.reads.set()
        self.room = asyncio.Event()
        self.room.set()
        self.aborted = False
        self.stream: Any = None
        self.head = b""

    def _forth(self, kind: int, number: int, content: bytes) -> None:
        asyncio.get_running_loop().call_soon(self.requests.receive, kind, number, content)

    def _back(self, kind: int, number: int, content: bytes) -> None:
        asyncio.get_running_loop().call_soon(self.forwarder.receive, kind, number, content)

    async def _drain(self) -> None:
        await asyncio.sleep(0)

    async def _wait_for_room(self) -> None:
        await self.room.wait()

    async def call(self, receive: Any, *headers: tuple[bytes, bytes], peer: Any = None) -> bytes:
        state = {"peer": peer, "abort": self._abort, "hand_over": self._hand_over}
        scope = {
            "type": "http",
            "method": "POST",
            "path": "/x",
            "raw_path": b"/x",
            "query_string": b"a=b",
            "headers": list(headers),
            "client": ("192.0.2.7", 4711),
            "state": state,
        }
        await self.forwarder(scope, receive, self._send)
        return b"".join(item.get("body", b"") for item in self.sent)

    async def _send(self, message: MutableMapping[str, Any]) -> None:
        await self.reads.wait()
        self.sent.append(message)

    def _abort(self) -> None:
        self.aborted = True

    def _hand_over(self, protocol: Any, head: bytes) -> None:
        self.stream, self.head = protocol, head
        protocol.connection_made(Wire())


class Wire(asyncio.Transport):
    """The client's end of an upgraded connection."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.closed = self.paused = False

    def write(self, data: Any) -> None:
        self.written += data

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False


def parts_of(*parts: bytes) -> Any:
    """A client that sends a body in parts, and then disconnects."""
    rest = list(parts)

    async def receive() -> dict[str, Any]:
        if not rest:
            return {"type": "http.disconnect"}
        part = rest.pop(0)
        return {"type": "http.request", "body": part, "more_body": bool(rest)}

    return receive


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Answers with the body of the request."""
    body, more = b"", True
    while more:
        message = await receive()
        assert message["type"] == "http.request"
        body, more = body + message["body"], message["more_body"]
    head = [(b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": head})
    await send({"type": "http.response.body", "body": body})


@pytest.mark.parametrize("size", [0, 1, SMALL_BODY, SMALL_BODY + 1])
async def test_a_body_of_any_size_arrives(size: int) -> None:
    pair, body = Pair(echo), b"x" * size
    head = (b"content-length", b"%d" % size)
    assert await pair.call(parts_of(body[:1], body[1:]) if size else parts_of(b""), head) == body


async def test_a_body_of_unknown_size_arrives() -> None:
    pair = Pair(echo)
    chunked = (b"transfer-encoding", b"chunked")
    assert await pair.call(parts_of(b"a", b"b", b"c"), chunked) == b"abc"


async def test_a_large_body_is_not_read_before_it_is_asked_for() -> None:
    async def refuse(scope: Any, receive: Any, send: Any) -> None:
        del scope, receive
        head = [(b"content-length", b"0")]
        await send({"type": "http.response.start", "status": 413, "headers": head})
        await send({"type": "http.response.body", "body": b""})

    async def receive() -> Any:
        raise AssertionError("the body was read")

    pair = Pair(refuse)
    await pair.call(receive, (b"content-length", b"%d" % (SMALL_BODY + 1)))
    assert pair.sent[0]["status"] == 413


async def test_a_long_response_waits_for_its_client() -> None:
    under_way = 0

    async def stream(scope: Any, receive: Any, send: Any) -> None:
        nonlocal under_way
        del scope, receive
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(40):
            await send({"type": "http.response.body", "body": b"x" * (WINDOW // 8), "more_body": 1})
            under_way += WINDOW // 8
        await send({"type": "http.response.body", "body": b""})

    pair = Pair(stream)
    pair.reads.clear()
    async with asyncio.TaskGroup() as group:
        calling = group.create_task(pair.call(parts_of()))
        await asyncio.sleep(1)
        assert under_way <= WINDOW
        pair.reads.set()
    assert len(calling.result()) == 5 * WINDOW


async def test_a_watch_ends_when_its_client_disconnects() -> None:
    ended = asyncio.Event()

    async def watch(scope: Any, receive: Any, send: Any) -> None:
        del scope
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while (await receive())["type"] != "http.disconnect":
            pass
        ended.set()
        await send({"type": "http.response.body", "body": b""})

    leaving = asyncio.Event()

    async def receive() -> Any:
        await leaving.wait()
        return {"type": "http.disconnect"}

    pair = Pair(watch)
    async with asyncio.TaskGroup() as group:
        calling = group.create_task(pair.call(receive))
        await asyncio.sleep(1)
        assert not ended.is_set()
        leaving.set()
        await ended.wait()
        calling.cancel()


async def test_a_response_that_breaks_off_closes_the_connection() -> None:
    async def fail(scope: Any, receive: Any, send: Any) -> None:
        del scope, receive
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise ValueError("broken")

    pair = Pair(fail)
    await pair.call(parts_of())
    assert pair.aborted


async def test_the_end_of_the_other_process_closes_connections() -> None:
    async def hang(scope: Any, receive: Any, send: Any) -> None:
        del scope, receive, send
        await asyncio.sleep(60)

    pair = Pair(hang)
    async with asyncio.TaskGroup() as group:
        calling = group.create_task(pair.call(parts_of()))
        await asyncio.sleep(1)
        pair.forwarder.lose()
        await calling
    assert pair.aborted
    pair.aborted = False
    async with asyncio.timeout(1):
        await pair.call(parts_of())  # and none is opened later
    assert pair.aborted


async def test_an_upgraded_connection_carries_bytes_both_ways() -> None:
    class Upper(asyncio.Protocol):
        transport: Any
        ended = asyncio.Event()

        def connection_made(self, transport: Any) -> None:
            self.transport = transport

        def data_received(self, data: bytes) -> None:
            self.transport.write(data.upper())

        def connection_lost(self, exc: Exception | None) -> None:
            self.ended.set()

    async def upgrade(scope: Any, receive: Any, send: Any) -> None:
        del receive, send
        protocol = Upper()
        scope["state"]["hand_over"](protocol, b"HTTP/1.1 101\r\n\r\n")
        await protocol.ended.wait()

    pair = Pair(upgrade)
    async with asyncio.TaskGroup() as group:
        group.create_task(pair.call(parts_of()))
        await asyncio.sleep(0.1)
        wire = pair.stream._transport
        assert pair.head == b"HTTP/1.1 101\r\n\r\n"
        pair.stream.data_received(b"hello")
        assert wire.paused  # until the other process has read it
        await asyncio.sleep(0.1)
        assert (wire.written, wire.paused) == (b"HELLO", False)
        pair.stream.connection_lost(None)
        await Upper.ended.wait()


async def test_responses_wait_while_much_waits_for_the_other_process() -> None:
    pair = Pair(echo)
    pair.room.clear()
    async with asyncio.TaskGroup() as group:
        for _ in range(3):
            group.create_task(pair.call(parts_of(b"a"), (b"content-length", b"1")))
        await asyncio.sleep(0.1)
        assert pair.sent == []
        pair.room.set()
    assert len(pair.sent) == 6


async def test_an_upgraded_connection_is_not_written_to_while_much_waits() -> None:
    class Recorder(asyncio.Protocol):
        transport: Any
        ended = asyncio.Event()
        paused = False

        def connection_made(self, transport: Any) -> None:
            self.transport = transport

        def pause_writing(self) -> None:
            assert not self.paused
            self.paused = True

        def resume_writing(self) -> None:
            assert self.paused
            self.paused = False

        def connection_lost(self, exc: Exception | None) -> None:
            self.ended.set()

    protocol = Recorder()

    async def upgrade(scope: Any, receive: Any, send: Any) -> None:
        del receive, send
        scope["state"]["hand_over"](protocol, b"")
        await protocol.ended.wait()

    pair = Pair(upgrade)
    async with asyncio.TaskGroup() as group:
        group.create_task(pair.call(parts_of()))
        await asyncio.sleep(0.1)
        pair.room.clear()
        protocol.transport.write(b"a")
        protocol.transport.write(b"b")
        await asyncio.sleep(0.1)
        assert protocol.paused
        pair.stream.pause_writing()  # the client reads nothing either
        await asyncio.sleep(0.1)
        pair.room.set()
        await asyncio.sleep(0.1)
        assert protocol.paused
        pair.stream.resume_writing()
        await asyncio.sleep(0.1)
        assert not protocol.paused
        pair.stream.connection_lost(None)
        await protocol.ended.wait()


async def test_identities_in_headers_are_ignored() -> None:
    peers: list[Any] = []

    async def note(scope: Any, receive: Any, send: Any) -> None:
        peers.append(scope["state"]["peer"])
        await echo(scope, receive, send)

    pair = Pair(note)
    headers = (b"x-remote-user", b"root"), (b"x-remote-group", b"system:masters"), (b"peer", b"{}")
    await pair.call(parts_of(b""), *headers)
    await pair.call(parts_of(b""), *headers, peer=MALLORY)
    assert peers == [None, MALLORY]


async def test_a_client_cannot_choose_who_it_is() -> None:
    async with replicated() as (_, (beside,)):
        replica = await beside.open()
        named: Any = {"x_remote_user": "root", "x_remote_group": "system:masters", "peer": "root"}
        for token, status in (("", 403), ("wrong", 401), ("ann", 403), ("root", 201)):
            body = config_map(f"by-{token}")
            answer = await replica.call("POST", CONFIG_MAPS, body, token=token, **named)
            assert answer.status == status, token
            body = config_map("x")
            impersonated = await replica.call(
                "POST", CONFIG_MAPS, body, token="ann", impersonate_user="root"
            )
            assert impersonated.status == 403
