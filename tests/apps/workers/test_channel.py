"""Requests between a plane and a worker, without processes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kapy.apps.workers.channel import Channel
from kapy.kube import Document
from kapy.kube.errors import NotFound, Unreachable
from kapy.kube.http import Reply, Request
from tests.apps.workers.in_process import connect


class Stream:
    """A watch that never ends by itself."""

    def __init__(self, lines: list[bytes]) -> None:
        self._lines = lines
        self.closed = asyncio.Event()

    async def lines(self) -> Any:
        for line in self._lines:
            yield line
        await asyncio.get_running_loop().create_future()

    async def aclose(self) -> None:
        self.closed.set()


class Ends:
    """Two connected channels; the far one answers."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, Request]] = []
        self.notices: list[tuple[str, Any]] = []
        self.stream = Stream([b'{"type":"ADDED","object":1}\n{"type":"BOOKMARK","object":2}\n'])
        self.cancelled = asyncio.Event()
        self.near = Channel(self._refuse, lambda *_: None)
        self.far = Channel(self._answer, lambda *notice: self.notices.append(notice))
        connect(self.near, self.far)

    async def _refuse(self, target: str, request: Request) -> Reply:
        raise AssertionError(target, request)

    async def _answer(self, target: str, request: Request) -> Reply:
        self.requests.append((target, request))
        match request.path:
            case "/document":
                return Reply(201, {"text": "é"}, {"warning": "w"})
            case "/bytes":
                return Reply(200, b"\x00\xff")
            case "/watch":
                return Reply(200, self.stream)  # type: ignore[arg-type]
            case "/missing":
                raise NotFound("b is not there")
            case "/unreachable":
                raise Unreachable("nobody there")
            case "/broken":
                raise ZeroDivisionError("broken")
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self.cancelled.set()
        raise AssertionError


async def test_a_request_and_its_reply_are_transferred_unchanged() -> None:
    ends = Ends()
    body: Document = {"a": [1, None, {"b": "c"}]}
    request = Request("PATCH", "/document", {"q": "1"}, {"content-type": "x"}, body)
    reply = await ends.near.ask("api", request)
    assert (reply.status, reply.body, reply.headers) == (201, {"text": "é"}, {"warning": "w"})
    target, delivered = ends.requests[0]
    assert (target, delivered.method, delivered.path) == ("api", "PATCH", "/document")
    assert (delivered.query, delivered.headers, delivered.body) == (
        {"q": "1"},
        {"content-type": "x"},
        body,
    )


async def test_bytes_are_transferred_unchanged() -> None:
    ends = Ends()
    reply = await ends.near.ask("api", Request("POST", "/bytes", body=b"\xfe\x00"))
    assert reply.body == b"\x00\xff"
    assert ends.requests[0][1].body == b"\xfe\x00"


async def test_failures_are_sent_to_the_caller() -> None:
    ends = Ends()
    with pytest.raises(Unreachable, match="nobody there"):
        await ends.near.ask("api", Request("GET", "/unreachable"))
    with pytest.raises(Unreachable, match="broken"):
        await ends.near.ask("api", Request("GET", "/broken"))
    assert (await ends.near.ask("api", Request("GET", "/missing"))).status == 404


async def test_a_watch_is_a_stream_that_its_reader_ends() -> None:
    ends = Ends()
    reply = await ends.near.ask("api", Request("GET", "/watch"))
    body: Any = reply.body
    assert [(await anext(body))["object"] for _ in range(2)] == [1, 2]
    await body.aclose()
    async with asyncio.timeout(5):
        await ends.stream.closed.wait()
    await ends.far.finish()


async def test_an_abandoned_request_is_cancelled() -> None:
    ends = Ends()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await ends.near.ask("api", Request("GET", "/never"))
    async with asyncio.timeout(5):
        await ends.cancelled.wait()


async def test_the_end_of_the_connection_ends_requests_and_watches() -> None:
    ends = Ends()
    body: Any = (await ends.near.ask("api", Request("GET", "/watch"))).body
    never = ends.near.ask("api", Request("GET", "/never"))
    waiting = asyncio.get_running_loop().create_task(never)
    assert (await anext(body))["object"] == 1
    await asyncio.sleep(0.01)
    ends.far.end()
    with pytest.raises(Unreachable, match="has ended"):
        await waiting
    assert (await anext(body))["object"] == 2
    with pytest.raises(StopAsyncIteration):
        await anext(body)
    with pytest.raises(Unreachable, match="has ended"):
        await ends.near.ask("api", Request("GET", "/document"))
    await ends.far.finish()
    assert ends.stream.closed.is_set()
    assert ends.cancelled.is_set()


async def test_a_notice_arrives_before_later_messages() -> None:
    ends = Ends()
    ends.near.notify("server", ["https://127.0.0.2", True])
    await ends.near.ask("api", Request("GET", "/document"))
    assert ends.notices == [("server", ["https://127.0.0.2", True])]
