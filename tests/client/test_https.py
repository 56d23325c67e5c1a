"""The transport over real sockets: against our own server, and against ones that misbehave."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache

import aiohttp
import pytest

from kapy._aio.clock import system_clock
from kapy.apiserver.server import Server
from kapy.apiserver.serving import Application, listen, server_context
from kapy.client.client import Client
from kapy.client.https import ApiTransport
from kapy.client.kubeconfig import Kubeconfig, KubeconfigError
from kapy.client.lines import Lines
from kapy.client.no_answer import describe_failure
from kapy.kube import Document, Key
from kapy.kube.errors import AlreadyExists, Expired, NotFound, Unreachable
from kapy.kube.http import Request
from kapy.kube.names import CONFIG_MAPS, NAMESPACES
from kapy.kube.pki import KeyPair, issue, new_ca

NOW = datetime.now(UTC)  # noqa: TID251 - TLS looks at the machine's own clock


@cache
def authority() -> KeyPair:
    return new_ca("test", now=NOW, algorithm="ECDSA-P256")


@cache
def other_authority() -> KeyPair:
    return new_ca("other", now=NOW, algorithm="ECDSA-P256")


@cache
def admin() -> KeyPair:
    return issue(
        authority(), "admin", now=NOW, organizations=["system:masters"], algorithm="ECDSA-P256"
    )


@cache
def serving() -> ssl.SSLContext:
    pair = issue(
        authority(),
        "server",
        now=NOW,
        names=["127.0.0.1", "plane.example"],
        usages=["server"],
        algorithm="ECDSA-P256",
    )
    return server_context(pair.certificate, pair.key, authority().certificate)


def config_map(name: str, **data: str) -> Document:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


@asynccontextmanager
async def plane() -> AsyncIterator[str]:
    server = Server.open(None, clock=system_clock)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(server.run())
        async with listen(Application(server), tls=serving()) as (host, port):
            yield f"https://{host}:{port}"
        task.cancel()
    server.close()


@asynccontextmanager
async def connected() -> AsyncIterator[Client]:
    async with plane() as address:
        transport = ApiTransport(access(address))
        client = Client(transport)
        try:
            with suppress(AlreadyExists):
                await client.create(
                    NAMESPACES,
                    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}},
                )
            yield client
        finally:
            await transport.aclose()


def access(address: str) -> Kubeconfig:
    return Kubeconfig(address, authority().certificate, admin().certificate, admin().key)


@asynccontextmanager
async def proxy(answer: bytes = b"HTTP/1.1 200 OK\r\n\r\n") -> AsyncIterator[tuple[str, list[str]]]:
    """A proxy that gives this answer, and the requests for a tunnel that it had."""
    request: list[str] = []

    async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while data := await source.read(65536):
            sink.write(data)
        sink.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        request.append(head.partition("\r\n")[0])
        writer.write(answer)
        if b"200" not in answer:
            writer.close()
            return
        host, port = head.split()[1].split(":")
        there, back = await asyncio.open_connection(host, int(port))
        with suppress(ConnectionError):
            await asyncio.gather(pump(reader, back), pump(there, writer))

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", request
    finally:
        server.close()


@asynccontextmanager
async def peer(
    answer: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
) -> AsyncIterator[ApiTransport]:
    """A transport to a server that answers each connection as it likes."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            await answer(reader, writer)
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    transport = ApiTransport(Kubeconfig(f"http://127.0.0.1:{port}"), timeout=1.0)
    try:
        yield transport
    finally:
        await transport.aclose()
        server.close()


def http(body: bytes, *, status: str = "200 OK", length: int | None = None) -> bytes:
    size = len(body) if length is None else length
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {size}\r\n\r\n"
    return head.encode() + body


STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


@pytest.mark.sockets
async def test_objects_are_read_and_written_over_tls() -> None:
    async with connected() as client:
        config_maps = await client.create(CONFIG_MAPS, config_map("a", x="1"))
        assert config_maps["metadata"]["uid"]
        await client.patch(CONFIG_MAPS, Key("default", "a"), {"data": {"y": "2"}})
        document = await client.get(CONFIG_MAPS, Key("default", "a"))
        assert document["data"] == {"x": "1", "y": "2"}
        with pytest.raises(AlreadyExists):
            await client.create(CONFIG_MAPS, config_map("a"))
        await client.delete(CONFIG_MAPS, Key("default", "a"))
        with pytest.raises(NotFound, match='configmaps "a" not found'):
            await client.get(CONFIG_MAPS, Key("default", "a"))


@pytest.mark.sockets
async def test_long_lists_come_in_pages_and_are_whole() -> None:
    async with connected() as client:
        for number in range(1100):
            await client.create(CONFIG_MAPS, config_map(f"n{number:04}"))
        maps = await client.list(CONFIG_MAPS, "default")
        assert [document["metadata"]["name"] for document in maps.items] == [
            f"n{n:04}" for n in range(1100)
        ]


@pytest.mark.sockets
async def test_a_watch_streams_events_however_long_they_are() -> None:
    async with connected() as client:
        since = (await client.list(CONFIG_MAPS)).resource_version
        async with client.watch(CONFIG_MAPS, resource_version=since) as events:
            await client.create(CONFIG_MAPS, config_map("a", x="1"))
            await client.patch(CONFIG_MAPS, Key("default", "a"), {"data": {"x": "2" * 700_000}})
            await client.delete(CONFIG_MAPS, Key("default", "a"))
            events_read = [await anext(events) for _ in range(3)]
        assert [event.type for event in events_read] == ["ADDED", "MODIFIED", "DELETED"]
        assert len(events_read[1].document["data"]["x"]) == 700_000


@pytest.mark.sockets
async def test_many_watches_and_requests_share_one_transport() -> None:
    async with connected() as client:
        since = (await client.list(CONFIG_MAPS)).resource_version

        async def first() -> str:
            async with client.watch(CONFIG_MAPS, resource_version=since) as events:
                async for event in events:
                    return str(event.document["metadata"]["name"])
            return ""

        async with asyncio.TaskGroup() as group:
            watches = [group.create_task(first()) for _ in range(120)]
            await asyncio.sleep(0.2)
            await client.create(CONFIG_MAPS, config_map("a"))
        assert {task.result() for task in watches} == {"a"}


@pytest.mark.sockets
async def test_a_server_of_another_authority_is_not_trusted() -> None:
    async with plane() as address:
        stranger = ApiTransport(
            Kubeconfig(address, other_authority().certificate, admin().certificate, admin().key)
        )
        with pytest.raises(Unreachable, match="not trusted"):
            await stranger(Request("GET", "/version"))
        await stranger.aclose()


@pytest.mark.sockets
async def test_the_name_in_the_certificate_may_be_another_than_the_address() -> None:
    async with plane() as address:
        local = address.replace("127.0.0.1", "localhost")
        refused = ApiTransport(access(local))
        with pytest.raises(Unreachable):
            await refused(Request("GET", "/api/v1/configmaps"))
        await refused.aclose()
        named = ApiTransport(
            Kubeconfig(
                local,
                authority().certificate,
                admin().certificate,
                admin().key,
                tls_server_name="plane.example",
            )
        )
        assert (await named(Request("GET", "/api/v1/configmaps"))).status == 200
        await named.aclose()


@pytest.mark.parametrize(
    ("certificate", "key"), [(b"no PEM", b"no PEM"), (None, b"-----BEGIN PRIVATE KEY-----")]
)
def test_unusable_credentials_are_reported_in_one_sentence(
    certificate: bytes | None, key: bytes
) -> None:
    certificate = certificate or admin().certificate
    with pytest.raises(KubeconfigError, match="cannot be used") as caught:
        ApiTransport(Kubeconfig("https://x", authority().certificate, certificate, key))
    assert "PRIVATE" not in str(caught.value)


@pytest.mark.sockets
async def test_an_address_without_a_server_is_unreachable() -> None:
    transport = ApiTransport(Kubeconfig("http://127.0.0.1:1"))
    with pytest.raises(Unreachable, match=r"cannot reach 127\.0\.0\.1:1"):
        await transport(Request("GET", "/version"))
    await transport.aclose()


@pytest.mark.sockets
@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"garbage\r\n\r\n",
        http(b'{"a": ', length=100),
        None,
    ],
    ids=["nothing", "no HTTP", "half an answer", "silence"],
)
async def test_an_answer_that_does_not_come_is_unreachable(sent: bytes | None) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if sent is None:
            await reader.read()
        else:
            writer.write(sent)
            await writer.drain()

    async with peer(answer) as transport:
        with pytest.raises(Unreachable):
            await transport(Request("POST", "/x", body={"a": 1}))


@pytest.mark.sockets
async def test_a_broken_watch_is_unreachable_and_a_finished_one_ends() -> None:
    event = b'{"type":"ADDED","object":{"metadata":{"name":"a"}}}\n'
    broken = [chunk(event) + chunk(event[:20]) + b"0\r\n\r\n", chunk(event) + chunk(event[:20])]
    # As the server ends it, and as a load balancer does when nothing happened for a while.
    ended = [chunk(event) + b"0\r\n\r\n", chunk(event), chunk(event)]
    ends = [*broken, *ended]

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM + ends.pop(0))
        await writer.drain()
        if not ends:
            await asyncio.sleep(0.1)
            peer_socket = writer.get_extra_info("socket")
            peer_socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()

    async with peer(answer) as transport:
        client = Client(transport)
        for _ in broken:
            async with client.watch(CONFIG_MAPS) as events:
                assert (await anext(events)).type == "ADDED"
                with pytest.raises(Unreachable):
                    await anext(events)
        for _ in ended:
            async with client.watch(CONFIG_MAPS) as events:
                assert len([event async for event in events]) == 1


@pytest.mark.sockets
async def test_an_error_has_its_retry_after() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        body = b'{"kind":"Status","status":"Failure","reason":"Expired","message":"old","code":410}'
        writer.write(http(body, status="410 Gone"))
        await writer.drain()

    async with peer(answer) as transport:
        with pytest.raises(Expired, match="old"):
            await Client(transport).get(CONFIG_MAPS, Key("default", "a"))


@pytest.mark.sockets
async def test_a_closed_transport_opens_no_connection() -> None:
    async with plane() as address:
        transport = ApiTransport(access(address))
        assert (await transport(Request("GET", "/api/v1/configmaps"))).status == 200
        await transport.aclose()
        for send in (transport, transport.probe):
            with pytest.raises(Unreachable, match="was closed"):
                await send(Request("GET", "/version"))
        assert transport._session is None
        assert transport._pulse is None


@pytest.mark.sockets
async def test_a_server_behind_a_proxy_is_reached_through_it() -> None:
    async with plane() as address, proxy() as (url, request):
        there = ApiTransport(replace(access(address), proxy=url))
        assert (await there(Request("GET", "/api/v1/configmaps"))).status == 200
        assert request == [f"CONNECT {address.removeprefix('https://')} HTTP/1.1"]
        await there.aclose()


@pytest.mark.sockets
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"HTTP/1.1 407 Who are you\r\ncontent-length: 0\r\n\r\n", "its proxy answered 407"),
        (b"", "its proxy cannot be reached"),
    ],
)
async def test_a_proxy_that_does_not_let_through_is_reported(answer: bytes, words: str) -> None:
    async with plane() as address, proxy(answer) as (url, _):
        url = url if answer else "http://127.0.0.1:9"
        there = ApiTransport(replace(access(address), proxy=url))
        with pytest.raises(Unreachable, match=words):
            await there(Request("GET", "/api/v1/configmaps"))
        await there.aclose()


def test_lines_are_split_independently_of_chunks() -> None:
    text = b'{"a":1}\n\n{"b":2}\r\n{"c":3'
    for size in range(1, len(text) + 1):
        lines, result = Lines(1 << 20), []
        for start in range(0, len(text), size):
            lines.feed(text[start : start + size])
            while (line := lines.next()) is not None:
                result.append(line)
        assert result == [b'{"a":1}', b'{"b":2}\r']
        assert lines.has_rest
        lines.feed(b"}\n")
        assert lines.next() == b'{"c":3}'
        assert not lines.has_rest


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ConnectionResetError(), "the other side hung up"),
        (ConnectionRefusedError(111, "Connect call failed ('::1', 1)"), "Connection refused"),
        (OSError(113, "No route to host"), "No route to host"),
    ],
)
def test_why_a_connection_failed_is_never_empty(error: OSError, said: str) -> None:
    key = aiohttp.client_reqrep.ConnectionKey("h", 1, True, True, None, None, None)
    assert describe_failure(aiohttp.ClientConnectorError(key, error)) == said
