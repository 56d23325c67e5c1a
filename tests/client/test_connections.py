"""Connections of a client: kept, shared, given up on in time, and their way through proxies."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

import pytest

from kapy.client.blocking import BlockingApiTransport
from kapy.client.https import ApiTransport
from kapy.client.kubeconfig import Kubeconfig
from kapy.kube.errors import Unreachable
from kapy.kube.http import Request
from tests.client.test_https import access, http, peer, plane, proxy, serving

ASK = Request("GET", "/version")


class Kept:
    """A server that keeps connections, and answers after a moment. heads: of all requests."""

    def __init__(self) -> None:
        self.connections = 0
        self.heads: list[str] = []
        self.open: list[asyncio.StreamWriter] = []

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open.append(writer)
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while head := (await reader.readuntil(b"\r\n\r\n")).decode():
                self.heads.append(head)
                await asyncio.sleep(0.02)
                writer.write(http(b"{}"))
        writer.close()


@asynccontextmanager
async def kept() -> AsyncIterator[tuple[Kept, ApiTransport]]:
    server = Kept()
    listening = await asyncio.start_server(server, "127.0.0.1", 0)
    there = ApiTransport(Kubeconfig(f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"))
    try:
        yield server, there
    finally:
        await there.aclose()
        listening.close()


@pytest.mark.sockets
async def test_connections_are_kept_and_no_more_are_made_than_are_busy() -> None:
    async with kept() as (server, there):
        for _ in range(5):
            await there(ASK)
        assert server.connections == 1
        for _ in range(3):
            await asyncio.gather(*(there(ASK) for _ in range(8)))
        assert server.connections == 8
        for item in server.open:
            item.close()
        await asyncio.sleep(0.05)
        assert (await there(Request("POST", "/x", body={"a": 1}))).status == 200
        assert server.connections == 9


@pytest.mark.sockets
async def test_watches_request_different_timeouts() -> None:
    async with kept() as (server, there):
        for _ in range(8):
            await there(Request("GET", "/watched", {"watch": "true"}))
        parts = [head.partition("timeoutSeconds=")[2].split()[0] for head in server.heads]
        assert all(300 <= int(item) <= 600 for item in parts)
        assert len(set(parts)) > 1


@pytest.mark.sockets
async def test_a_server_that_does_not_answer_times_out() -> None:
    async def silent(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()

    async with peer(silent) as there:
        there._timeout = 0.2
        with pytest.raises(Unreachable, match="no answer in time"):
            await there(ASK)


@asynccontextmanager
async def over_tls(url: str) -> AsyncIterator[str]:
    """A proxy that itself is reached over TLS, before one that is not."""
    host, port = url.removeprefix("http://").split(":")

    async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, ssl.SSLError):
            while data := await source.read(65536):
                sink.write(data)
        sink.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(host, int(port))
        await asyncio.gather(pump(reader, back), pump(there, writer))

    context = serving()
    listening = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    try:
        yield f"https://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    finally:
        listening.close()


@pytest.mark.sockets
@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_server_name_is_verified_behind_a_proxy_too(scheme: str) -> None:
    async with plane() as address, proxy() as (url, request), over_tls(url) as secure:
        way = url if scheme == "http" else secure
        named = replace(access(address), proxy=way, tls_server_name="plane.example")
        there = ApiTransport(named)
        assert (await there(Request("GET", "/api/v1/configmaps"))).status == 200
        assert len(request) == 1
        await there.aclose()


@pytest.mark.sockets
async def test_a_wrong_name_is_not_trusted_behind_a_proxy_either() -> None:
    async with plane() as address, proxy() as (url, _):
        there = ApiTransport(replace(access(address), proxy=url, tls_server_name="another.example"))
        with pytest.raises(Unreachable, match=r"not trusted: .*another\.example"):
            await there(Request("GET", "/api/v1/configmaps"))
        await there.aclose()


@asynccontextmanager
async def socks(refuses: bool = False) -> AsyncIterator[tuple[str, list[str]]]:
    """A SOCKS5 proxy (RFC 1928) for a user with a password (RFC 1929), and whom it was asked for.
    Every name is that of this machine."""
    request: list[str] = []

    async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await source.read(65536):
                sink.write(data)
        sink.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, methods = await reader.readexactly(2)
        assert 2 in await reader.readexactly(methods)
        writer.write(b"\x05\x02")
        credentials = [
            (await reader.readexactly((await reader.readexactly(n))[-1])).decode() for n in (2, 1)
        ]
        assert credentials == ["me", "s3cret"]
        writer.write(b"\x01\x00")
        *_, kind = await reader.readexactly(4)
        assert kind == 3  # a name
        name = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
        request.append(name)
        port = int.from_bytes(await reader.readexactly(2), "big")
        writer.write(b"\x05%c\x00\x01\x00\x00\x00\x00\x00\x00" % (5 if refuses else 0))
        if refuses:
            writer.close()
            return
        there, back = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(pump(reader, back), pump(there, writer))

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"socks5://me:s3cret@127.0.0.1:{listening.sockets[0].getsockname()[1]}", request
    finally:
        listening.close()


@pytest.mark.sockets
async def test_names_are_resolved_by_a_socks_proxy() -> None:
    async with plane() as address, socks() as (url, request):
        named = replace(
            access(address.replace("127.0.0.1", "plane.example")), proxy=url.replace("5", "5h", 1)
        )
        there = ApiTransport(named)
        assert (await there(Request("GET", "/api/v1/configmaps"))).status == 200
        assert (await there.probe(ASK)).status == 200
        await there.aclose()

        def of_command() -> int:
            transport = BlockingApiTransport(replace(named, proxy=url))
            try:
                return asyncio.run(transport(Request("GET", "/api/v1/configmaps"))).status
            finally:
                transport.close()

        assert await asyncio.get_running_loop().run_in_executor(None, of_command) == 200
        assert set(request) == {"plane.example"}


@pytest.mark.sockets
async def test_a_socks_proxy_that_does_not_let_through_is_reported() -> None:
    async with socks(refuses=True) as (url, _):
        for way, words in (
            (url, "[Rr]efused"),
            ("socks5://127.0.0.1:9", "proxy cannot be reached"),
        ):
            there = ApiTransport(Kubeconfig("https://plane.example:6443", proxy=way))
            with pytest.raises(Unreachable, match=words) as caught:
                await there(ASK)
            assert "s3cret" not in str(caught.value)
            await there.aclose()
