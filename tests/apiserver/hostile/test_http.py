"""Bytes that are no proper HTTP, and HTTP that asks for what is not there."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from kapy.apiserver.serving import protocol
from tests.apiserver.hostile.wire import CONFIG_MAPS, HEAD, JSON, OBJECT, request, wired
from tests.waiting import LIMIT

pytestmark = pytest.mark.sockets

POST = b"POST " + CONFIG_MAPS + b" HTTP/1.1\r\n" + HEAD + JSON
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n"
NOT_HTTP = {
    "no text": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 20,
    "no request": b"hello\r\n\r\n",
    "bare line feeds": b"GET /version HTTP/1.1\nHost: x\n\n",
    "HTTP/0.9": b"GET /version\r\n\r\n",
    "HTTP/3": b"GET /version HTTP/3.0\r\n\r\n",
    "HTTP/2's preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "no host": b"GET /version HTTP/1.1\r\n\r\n",
    "two hosts": b"GET /version HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
    "a header without colon": request(b"/version", b"Foo\r\n"),
    "a space before the colon": request(b"/version", b"Foo : x\r\n"),
    "a folded header": request(b"/version", b"Foo: x\r\n  y\r\n"),
    "NUL in a header": request(b"/version", b"Foo: a\0b\r\n"),
    "a line end in a header": request(b"/version", b"Foo: a\rb\r\n"),
    "two lengths": POST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n123456",
    "a negative length": POST + b"Content-Length: -5\r\n\r\n123456",
    "a length beyond 64 bits": POST + b"Content-Length: 99999999999999999999999\r\n\r\n1",
    "a length in words": POST + b"Content-Length: five\r\n\r\n12345",
    "length and chunks": CHUNKED + b"Content-Length: 5\r\n\r\n0\r\n\r\n",
    "a coding that is no chunks": POST + b"Transfer-Encoding: gzip\r\n\r\nxx",
    "a chunk without size": CHUNKED + b"\r\nzz\r\nabc\r\n",
    "a chunk beyond 64 bits": CHUNKED + b"\r\nffffffffffffffffffff\r\nabc\r\n",
    "an unknown method": request(b"/version", method=b"FOO"),
    "CONNECT": request(b"x:443", method=b"CONNECT"),
    "a path without slash": request(b"version"),
    "a space in the path": request(b"/version x"),
    "letters beyond ASCII": request("/api/v1/namespaces/é".encode()),
    "half an escape": request(b"/api/v1/namespaces/%zz"),
}


async def test_malformed_http_gets_a_400_and_ends_the_connection() -> None:
    async with wired() as wire:
        for what, content in NOT_HTTP.items():
            answer = await wire.say(content)
            results = answer.status, answer.body["kind"], answer.body["reason"], answer.closed
            assert results == (400, "Status", "BadRequest", True), what
        assert (await wire.say(request(b"/readyz"))).status == 200


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (request(b"/version", b"X: " + b"a" * (2 << 20) + b"\r\n"), 431),
        (b"GET /version HTTP/1.1\r\n" + b"X: y\r\n" * (1 << 18), 431),
        (b"GET /version HTTP/1.1\r\nX: " + b"a" * (2 << 20), 431),
        (request(b"/" + b"a" * (1 << 16)), 414),
        (request(CONFIG_MAPS, JSON, method=b"POST", body=b" " * (3 << 20) + OBJECT), 413),
        (POST + b"Content-Length: 999999999\r\n\r\n", 413),
        (CHUNKED + b"\r\n" + (b"100000\r\n" + b" " * (1 << 20) + b"\r\n") * 4, 413),
    ],
    ids=["header", "headers", "endless header", "URL", "body", "announced body", "chunks"],
)
async def test_oversized_heads_and_bodies_are_refused(content: bytes, status: int) -> None:
    async with wired() as wire:
        answer = await wire.say(content)
        # A client that sends on may find the connection reset before it reads the answer.
        assert answer.status in (status, 0)
        assert (await wire.say(request(b"/readyz"))).status == 200


@pytest.mark.parametrize(
    ("beginning", "status"),
    [
        (b"", 408),
        (b"GET /version HTT", 408),
        (b"GET /version HTTP/1.1\r\nX: y\r\n", 408),
        (POST + b"Content-Length: 100\r\n\r\n{", 408),
        (CHUNKED + b"\r\n5\r\nab", 408),
    ],
    ids=["nothing", "half a line", "half a head", "half a body", "half a chunk"],
)
async def test_a_client_that_stalls_in_a_request_is_timed_out(
    beginning: bytes, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for head in ("FIRST_SECONDS", "HEAD_SECONDS"):
        monkeypatch.setattr(protocol, head, 0.2)
    monkeypatch.setattr(protocol, "BODY_SECONDS", 0.2)
    async with wired() as wire:
        answer = await wire.say(beginning)
        assert (answer.status, answer.closed) == (status, True)


async def test_bytes_sent_slowly_do_not_keep_a_connection_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for head in ("FIRST_SECONDS", "HEAD_SECONDS"):
        monkeypatch.setattr(protocol, head, 0.3)
    async with wired() as wire, wire.talk() as talk:
        async with asyncio.timeout(LIMIT):
            with contextlib.suppress(ConnectionError):
                for letter in b"GET /version HTTP/1.1\r\nX: " + b"y" * 10_000:
                    await talk.send(bytes([letter]))
                    await asyncio.sleep(0.02)
                    if talk.reader.at_eof() or talk.writer.is_closing():
                        break
        assert (await talk.answer()).status in (408, 0)


ASKED = [
    (request(CONFIG_MAPS, method=b"OPTIONS"), 405),
    (request(CONFIG_MAPS, method=b"TRACE"), 405),
    (request(CONFIG_MAPS, method=b"PROPFIND"), 405),
    (request(b"/version", method=b"TRACE"), 405),
    (request(b"*", method=b"OPTIONS"), 404),
    (request(b"http://elsewhere/version"), 200),
    (request(CONFIG_MAPS, b"Accept: text/html\r\n"), 406),
    (request(CONFIG_MAPS, b"Accept: application/json;as=Nonsense;v=v1;g=meta.k8s.io\r\n"), 406),
    (request(CONFIG_MAPS, b"Content-Type: text/plain\r\n", method=b"POST", body=OBJECT), 415),
    (request(CONFIG_MAPS, b"Content-Type: ;;;\r\n", method=b"POST", body=OBJECT), 415),
    (
        request(
            CONFIG_MAPS, JSON + b"Content-Encoding: gzip\r\n", method=b"POST", body=b"\x1f\x8b\0"
        ),
        400,
    ),
    (request(CONFIG_MAPS, JSON + b"Expect: 100-continue\r\n", method=b"POST", body=OBJECT), 201),
    (request(b"/version", b"Connection: Upgrade\r\nUpgrade: websocket\r\n"), 200),
    (request(b"/api/v1/../v1/namespaces"), 404),
    (request(CONFIG_MAPS + b"/.."), 400),
    (request(CONFIG_MAPS + b"/%2e%2e"), 400),
    (request(CONFIG_MAPS + b"/a%2fb"), 404),
    (request(CONFIG_MAPS + b"/a%00b"), 404),
    (request(CONFIG_MAPS + b"/%c0%ae%c0%ae"), 404),
    (request(CONFIG_MAPS + b"/%ed%a0%80"), 404),
    (request(b"//api/v1/namespaces"), 404),
    (request(b"/api/v1/namespaces//configmaps"), 404),
    (request(b"/api/v1/namespaces//configmaps", JSON, method=b"POST", body=OBJECT), 404),
    (request(b"/api/v1/namespaces/a%2fb/configmaps", JSON, method=b"POST", body=OBJECT), 404),
    (request(b"/api/v1/namespaces;a=b"), 404),
    (request(b"/api/v1/namespaces?limit=-1"), 200),
    (request(b"/api/v1/namespaces?limit=many"), 400),
    (request(b"/api/v1/namespaces?limit=99999999999999999999"), 400),
    (request(b"/api/v1/namespaces?limit=1&limit=many"), 200),
    (request(b"/api/v1/namespaces?unknown=%zz&%=&&=&x"), 200),
    (request(b"/api/v1/namespaces?" + b"&".join(b"a%d=b" % at for at in range(5000))), 200),
    (request(b"/api/v1/namespaces?labelSelector=%00"), 400),
    (request(b"/api/v1/namespaces?labelSelector=a%20in%20("), 400),
    (request(b"/api/v1/namespaces?labelSelector=" + b"a,!" * 5000), 400),
    (request(b"/api/v1/namespaces?fieldSelector=a%3Db"), 400),
    (request(b"/api/v1/namespaces?continue=%ff"), 400),
    (request(b"/api/v1/namespaces?resourceVersion=-1"), 400),
    (request(b"/api/v1/namespaces?watch=1&timeoutSeconds=soon"), 400),
    (request(CONFIG_MAPS + b"/a?gracePeriodSeconds=never", method=b"DELETE"), 400),
    (request(CONFIG_MAPS + b"?dryRun=x", JSON, method=b"POST", body=OBJECT), 422),
]


async def test_valid_http_gets_the_right_status() -> None:
    async with wired() as wire:
        for content, status in ASKED:
            assert (await wire.say(content)).status == status, content[:120]


async def test_requests_may_be_pipelined() -> None:
    async with wired() as wire, wire.talk() as talk:
        await talk.send(request(b"/readyz") + request(CONFIG_MAPS) + request(b"/nothing"))
        assert [(await talk.answer()).status for _ in range(3)] == [200, 200, 404]


async def test_a_head_request_gets_no_body() -> None:
    async with wired() as wire, wire.talk() as talk:
        for path, status in ((b"/readyz", 200), (CONFIG_MAPS, 405), (b"/nothing", 404)):
            await talk.send(request(path, method=b"HEAD"))
            assert (await talk.answer(body=False)).status == status


async def test_a_client_of_http_1_0_gets_a_response_and_a_closed_connection() -> None:
    async with wired() as wire:
        answer = await wire.say(b"GET /readyz HTTP/1.0\r\n\r\n")
        assert (answer.status, answer.closed) == (200, True)


async def test_a_client_that_leaves_early_costs_nothing() -> None:
    async with wired() as wire:
        for content in (request(CONFIG_MAPS), request(CONFIG_MAPS + b"?watch=1"), POST, b""):
            async with wire.talk() as talk:
                await talk.send(content)
                talk.writer.transport.abort()
        assert (await wire.say(request(b"/readyz"))).status == 200
        for _ in range(200):
            if not wire.asking.server.store.table("configmaps").watchers:
                break
            await asyncio.sleep(0.01)
        assert wire.asking.server.store.table("configmaps").watchers == []


@pytest.mark.parametrize(
    "line",
    [
        b"Audit-ID: a\x01b\r\n",
        b"Audit-ID: a\x7fb\r\n",
        b"Audit-ID: " + b"a" * 5000 + b"\r\n",
        b"Audit-ID: \xff\xfe\r\n",
        b"User-Agent: \xff\x01/1\r\n",
        b"Impersonate-User: \xff\r\nImpersonate-Extra-%zz: x\r\n",
        b"X-Forwarded-For: \xff, nonsense\r\n",
        b"Accept: \xff;=;,\r\n",
        b"Accept-Encoding: \xff\r\n",
    ],
)
async def test_strange_headers_break_nothing(line: bytes) -> None:
    async with wired() as wire:
        answer = await wire.say(request(CONFIG_MAPS, line + JSON, method=b"POST", body=OBJECT))
        assert answer.status in (201, 400, 403, 406)


async def test_a_write_without_an_acceptable_response_type_is_not_done() -> None:
    async with wired() as wire:
        create = request(CONFIG_MAPS, JSON + b"Accept: text/html\r\n", method=b"POST", body=OBJECT)
        assert (await wire.say(create)).status == 406
        assert (await wire.say(request(CONFIG_MAPS + b"/a"))).status == 404
