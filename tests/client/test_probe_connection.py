"""Tests of the connection that is kept open for probes, and of its failures."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kapy.client.https import ApiTransport
from kapy.kube.errors import Unreachable
from kapy.kube.http import Request
from tests.client.test_https import access, plane, serving

pytestmark = pytest.mark.sockets

VERSION = Request("GET", "/version")
OK = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 13\r\n\r\n"
BODY = b'{"major":"1"}'
CHUNKED = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    b'7\r\n{"major\r\n6\r\n":"1"}\r\n0\r\n\r\n'
)
REFUSED = (
    b"HTTP/1.1 401 Unauthorized\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"
)


class Peer:
    """A server that gives the prepared responses of each connection. heads: the requests' heads."""

    def __init__(self) -> None:
        self.heads: list[bytes] = []
        self.connections = 0
        self.answers: list[bytes | None] = []
        self.base = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                self.heads.append(await reader.readuntil(b"\r\n\r\n"))
                answer = self.answers.pop(0) if self.answers else OK + BODY
                if answer is None:
                    return
                writer.write(answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.transport.abort()


@asynccontextmanager
async def asked(path: str = "") -> AsyncIterator[tuple[Peer, ApiTransport]]:
    peer = Peer()
    server = await asyncio.start_server(peer.serve, "127.0.0.1", 0, ssl=serving())
    port = server.sockets[0].getsockname()[1]
    transport = ApiTransport(access(f"https://127.0.0.1:{port}{path}"))
    try:
        yield peer, transport
    finally:
        await transport.aclose()
        server.close()
        await asyncio.sleep(0)


async def test_an_api_server_is_asked_many_times_on_one_connection() -> None:
    async with plane() as address:
        transport = ApiTransport(access(address))
        for _ in range(3):
            reply = await transport.probe(VERSION)
            assert isinstance(reply.body, dict)
            assert (reply.status, reply.body["major"]) == (200, "1")
        assert (await transport.probe(Request("GET", "/nowhere"))).status == 404
        await transport.aclose()


async def test_requests_are_those_of_any_other_client() -> None:
    async with asked("/k8s/clusters/one") as (peer, transport):
        for _ in range(3):
            assert (await transport.probe(VERSION)).body == {"major": "1"}
        assert peer.connections == 1
        lines = peer.heads[-1].decode().split("\r\n")
        assert lines[0] == "GET /k8s/clusters/one/version HTTP/1.1"
        assert f"host: {transport.host}" in lines
        assert "accept: application/json" in [line.lower() for line in lines]


@pytest.mark.parametrize(
    ("answers", "expected", "connections"),
    [
        ([CHUNKED, CHUNKED], (200, {"major": "1"}), 1),
        ([OK + BODY, None], (200, {"major": "1"}), 2),
        ([OK.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n") + BODY], (200, None), 2),
        ([REFUSED, REFUSED], (401, {}), 1),
        ([b"SSH-2.0-OpenSSH_9.6\r\n"], "not HTTP", 1),
        ([OK.replace(b"13", b"9999999") + b"x" * 9999999], "longer than", 1),
    ],
)
async def test_probes_survive_all_kinds_of_answers(
    answers: list[bytes | None], expected: tuple[int, object] | str, connections: int
) -> None:
    async with asked() as (peer, transport):
        peer.answers = answers
        if isinstance(expected, str):
            with pytest.raises(Unreachable, match=expected):
                await transport.probe(VERSION)
            return
        for _ in range(2):
            reply = await transport.probe(VERSION)
        assert reply.status == expected[0]
        assert expected[1] is None or reply.body == expected[1]
        assert peer.connections == connections


async def test_a_late_response_does_not_answer_the_next_probe() -> None:
    async with asked() as (peer, transport):
        peer.answers = [OK[:40]]
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await transport.probe(VERSION)
        assert (await transport.probe(VERSION)).body == {"major": "1"}
        assert peer.connections == 2


async def test_an_absent_or_untrusted_server_is_reported_in_words() -> None:
    nobody = ApiTransport(access("https://127.0.0.1:1"))
    with pytest.raises(Unreachable, match=r"cannot reach 127.0.0.1:1: Connection refused"):
        await nobody.probe(VERSION)
    async with asked() as (_, transport):
        transport._tls = ssl.create_default_context()
        with pytest.raises(Unreachable, match="certificate is not trusted"):
            await transport.probe(VERSION)
