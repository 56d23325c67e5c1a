"""API servers that mean harm: what they send is bounded, and nothing of it reaches a traceback."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from kapy.client import client as client_module
from kapy.client import https
from kapy.client.client import Client
from kapy.client.json_stream import JsonStream
from kapy.client.lines import Lines
from kapy.client.reply import document_of, failure_of
from kapy.kube.errors import KapyError, ServerError, Unreachable
from kapy.kube.foreign_json import BadJson, decode_json, decode_json_in_pieces
from kapy.kube.http import Reply, Request
from kapy.kube.names import CONFIG_MAPS
from tests.client.test_https import http, peer

Writer = asyncio.StreamWriter
Answer = Callable[[asyncio.StreamReader, Writer], Awaitable[None]]

CHUNKED = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"


def says(content: bytes) -> Answer:
    async def answer(_: asyncio.StreamReader, writer: Writer) -> None:
        writer.write(content)
        await writer.drain()

    return answer


async def endless(_: asyncio.StreamReader, writer: Writer) -> None:
    writer.write(CHUNKED)
    while not writer.is_closing():
        writer.write(b"1000\r\n" + b" " * 4096 + b"\r\n")
        await writer.drain()


def zipped(content: bytes) -> bytes:
    packed = gzip.compress(content)
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\n"
    return head + b"content-length: %d\r\n\r\n" % len(packed) + packed


@pytest.mark.sockets
@pytest.mark.parametrize(
    "answer",
    [
        endless,
        says(http(b" " * (1 << 17))),
        says(zipped(b" " * (1 << 24))),
        says(b"HTTP/1.1 200 OK\r\nx: " + b"x" * (1 << 20)),
    ],
    ids=["endless", "long", "a gzip bomb", "a long head"],
)
async def test_an_answer_is_read_up_to_a_bound(answer: Answer) -> None:
    async with peer(answer) as transport:
        transport._most = 1 << 16
        with pytest.raises(Unreachable):
            await transport(Request("GET", "/version"))


@pytest.mark.sockets
async def test_a_redirect_is_not_followed() -> None:
    request = []

    async def answer(_: asyncio.StreamReader, writer: Writer) -> None:
        request.append(writer)
        writer.write(b"HTTP/1.1 302 Found\r\nlocation: /again\r\ncontent-length: 0\r\n\r\n")

    async with peer(answer) as transport:
        with pytest.raises(ServerError):
            await Client(transport).raw("GET", "/version")
    assert len(request) == 1


DEEP = b"[" * 100_000
NONSENSE: dict[str, bytes] = {
    "deep": DEEP,
    "deep, closed": b'{"a":' * 20_000 + b"1" + b"}" * 20_000,
    "400 levels": b'{"a":' * 400 + b"1" + b"}" * 400,
    "no text": b'{"a":"\xff"}',
    "no JSON": b"<html>",
    "no object": b"[]",
    "nothing": b"",
}


@pytest.mark.parametrize("what", NONSENSE)
def test_an_invalid_response_is_a_server_error(what: str) -> None:
    body = https._decode(NONSENSE[what], {"content-type": "application/json"})
    with pytest.raises(ServerError):
        document_of(Reply(200, body))
    assert failure_of(Reply(500, body)).status()["code"] == 500


LISTS: dict[str, Any] = {
    "no metadata": {"items": []},
    "no version": {"metadata": {}, "items": []},
    "a version that is no number": {"metadata": {"resourceVersion": "x"}, "items": []},
    "a version of many digits": {"metadata": {"resourceVersion": "9" * 5000}, "items": []},
    "items that are no list": {"metadata": {"resourceVersion": "1"}, "items": {"a": 1}},
    "an item that is none": {"metadata": {"resourceVersion": "1"}, "items": [5]},
    "an item without metadata": {"metadata": {"resourceVersion": "1"}, "items": [{"kind": "x"}]},
    "a name that is none": {
        "metadata": {"resourceVersion": "1"},
        "items": [{"metadata": {"name": ["a"]}}],
    },
    "labels that are none": {
        "metadata": {"resourceVersion": "1"},
        "items": [{"metadata": {"name": "a", "labels": "x"}}],
    },
    "pages without end": {
        "metadata": {"resourceVersion": "1", "continue": "again"},
        "items": [{"metadata": {"name": "a"}}],
    },
    "a token that is none": {"metadata": {"resourceVersion": "1", "continue": 5}, "items": []},
}


class Scripted:
    """A server over a network that gives one answer."""

    over_network = True

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked = 0

    async def __call__(self, request: Request) -> Reply:
        self.asked += 1
        return Reply(200, self.answer() if callable(self.answer) else self.answer)


@pytest.mark.parametrize("what", LISTS)
async def test_an_invalid_list_is_a_server_error(what: str) -> None:
    server = Scripted(LISTS[what])
    with pytest.raises(ServerError, match="makes no sense"):
        await Client(server).list(CONFIG_MAPS)
    assert server.asked < 3


async def test_an_endless_list_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "MAX_PAGES", 7)
    numbers = iter(range(1000))

    def page() -> Any:
        return {"metadata": {"resourceVersion": "1", "continue": str(next(numbers))}, "items": []}

    with pytest.raises(ServerError, match="no end"):
        await Client(Scripted(page)).list(CONFIG_MAPS)
    assert next(numbers) < 10


EVENTS: dict[str, Any] = {
    "no type": {"object": {"metadata": {"name": "a"}}},
    "a strange type": {"type": "EXPLODED", "object": {"metadata": {"name": "a"}}},
    "no object": {"type": "ADDED"},
    "a text": {"type": "ADDED", "object": "x"},
    "no metadata": {"type": "ADDED", "object": {}},
    "metadata that are none": {"type": "ADDED", "object": {"metadata": []}},
    "an error that is none": {"type": "ERROR", "object": 5},
    "an error with a strange code": {"type": "ERROR", "object": {"code": [410], "details": 5}},
}


async def _one(event: Any) -> Any:
    yield event


@pytest.mark.parametrize("what", EVENTS)
async def test_an_invalid_event_is_a_server_error(what: str) -> None:
    with pytest.raises(ServerError):
        async with Client(Scripted(lambda: _one(EVENTS[what]))).watch(CONFIG_MAPS) as events:
            await anext(events)


@pytest.mark.sockets
@pytest.mark.parametrize("begin", [b'{"type":"ADDED","object":{"a":"', b'{\n"type":"'])
async def test_an_event_is_read_up_to_a_bound(
    begin: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(https, "MAX_EVENT_BYTES", 1 << 16)

    async def answer(_: asyncio.StreamReader, writer: Writer) -> None:
        writer.write(CHUNKED + b"%x\r\n%b\r\n" % (len(begin), begin))
        while not writer.is_closing():
            writer.write(b"1000\r\n" + b"x" * 4096 + b"\r\n")
            await writer.drain()

    async with peer(answer) as transport:
        with pytest.raises(Unreachable, match="longer than 65536 bytes"):
            async with Client(transport).watch(CONFIG_MAPS) as events:
                await anext(events)


def test_a_line_is_collected_up_to_a_bound() -> None:
    lines = Lines(100)
    lines.feed(b"x" * 100)
    lines.feed(b"\n" + b"y" * 100)
    with pytest.raises(ValueError, match="longer than 100"):
        lines.feed(b"z")


def test_a_document_is_collected_up_to_a_bound() -> None:
    events = JsonStream(b'{"a":"', 100)
    events.feed(b"x" * 80)
    assert events.next() is None
    events.feed(b"x" * 80)
    with pytest.raises(ValueError, match="longer than 100"):
        events.next()


documents = some.dictionaries(
    some.text(max_size=6),
    some.recursive(
        some.none() | some.booleans() | some.integers(-(2**40), 2**40) | some.text(max_size=12),
        lambda inner: (
            some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=4), inner)
        ),
        max_leaves=8,
    ),
    max_size=4,
)


@given(some.lists(documents, max_size=4), some.integers(1, 9), some.sampled_from(["", "\n", " "]))
def test_documents_are_found_in_pieces_of_any_size(
    wanted: list[Any], piece: int, between: str
) -> None:
    texts = (json.dumps(item, ensure_ascii=False) for item in wanted)
    content = between.join(texts).encode()
    events, result = JsonStream(b"", 1 << 20), []
    for at in range(0, len(content), piece):
        events.feed(content[at : at + piece])
        while (document := events.next()) is not None:
            result.append(document)
    assert result == wanted
    assert not events.has_rest


def test_a_long_list_is_decoded_in_pieces() -> None:
    item = {"metadata": {"name": "a"}, "data": {"x": "y" * 1000}}
    document = {"kind": "List", "metadata": {"resourceVersion": "5"}, "items": [item] * 5000}
    *pauses, result = decode_json_in_pieces(json.dumps(document).encode())
    assert result == document
    assert len(pauses) >= 4, "one for each megabyte"
    assert set(pauses) == {None}
    nested = {"response": {"uid": "u", "convertedObjects": [item] * 5000}, "kind": "x"}
    *pauses, result = decode_json_in_pieces(
        json.dumps(nested).encode(), ("response", "convertedObjects")
    )
    assert (result, len(pauses) >= 4) == (nested, True)


@pytest.mark.parametrize(
    "text",
    [b"{" + b" " * (1 << 20), b'{"items":[' + b"[" * (1 << 20), b'{"items":"' + b"x" * (1 << 20)],
)
def test_a_document_that_is_not_a_list_is_refused_in_pieces_too(text: bytes) -> None:
    with pytest.raises(BadJson):
        list(decode_json_in_pieces(text))


def test_the_depth_of_json_is_bounded() -> None:
    assert decode_json(b"[" * 300 + b"]" * 300) is not None
    with pytest.raises(BadJson):
        decode_json(b"[" * 301 + b"0" + b"]" * 301)


@pytest.mark.parametrize("status", [{"details": "x"}, {"message": ["a"]}, {"reason": 5}])
def test_a_status_of_any_form_is_an_error(status: Any) -> None:
    error = failure_of(Reply(409, status))
    assert isinstance(error, KapyError)
    assert error.details is None
