"""The tuning of a process lasts as long as its context."""

from __future__ import annotations

import asyncio
import gc
import ssl
from asyncio.sslproto import SSLProtocol
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from random import Random
from typing import Any

from kapy.apiserver.serving import server_context
from kapy.apps.process_tuning import TLS_BUFFER, YOUNG_THRESHOLD, tuned_process
from kapy.kube.pki import issue, new_ca

NOW = datetime.now(UTC)  # noqa: TID251 - TLS looks at the machine's own clock


def test_a_process_is_tuned_while_the_context_is_open() -> None:
    before = gc.get_threshold(), SSLProtocol.max_size, SSLProtocol.connection_made
    with tuned_process():
        assert gc.get_threshold()[0] == YOUNG_THRESHOLD
        assert SSLProtocol.max_size == TLS_BUFFER
    assert (gc.get_threshold(), SSLProtocol.max_size, SSLProtocol.connection_made) == before


async def test_connections_of_a_loop_share_a_buffer_and_not_their_bytes() -> None:
    with tuned_process():
        async with AsyncExitStack() as stack:
            connections = [await _echo(stack) for _ in range(4)]
            buffers = {id(_buffer(writer)) for _, writer in connections}
            assert len(buffers) == 1
            # Pieces of several TLS records each, which the loop reads in turns.
            texts = [Random(number).randbytes(5 * TLS_BUFFER) for number in range(4)]
            for _, writer in connections:
                writer.transport.set_write_buffer_limits(high=10 * TLS_BUFFER)
            for (_, writer), text in zip(connections, texts, strict=True):
                writer.write(text)
            received = await asyncio.gather(
                *(
                    reader.readexactly(len(text))
                    for (reader, _), text in zip(connections, texts, strict=True)
                )
            )
            assert received == texts


def test_two_event_loops_have_a_buffer_each() -> None:
    async def buffer_of_a_connection() -> bytearray:
        async with AsyncExitStack() as stack:
            _, writer = await _echo(stack)
            return _buffer(writer)

    with tuned_process(), asyncio.Runner() as one_loop, asyncio.Runner() as other_loop:
        first = one_loop.run(buffer_of_a_connection())
        second = other_loop.run(buffer_of_a_connection())
    assert first is not second


async def _echo(stack: AsyncExitStack) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Open a TLS connection to a server that sends back what it gets."""
    authority = new_ca("test", now=NOW, algorithm="ECDSA-P256")
    pair = issue(authority, "server", now=NOW, names=["127.0.0.1"], usages=["server"])

    async def send_back(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(TLS_BUFFER):
            writer.write(data)
            await writer.drain()
        writer.close()

    tls = server_context(pair.certificate, pair.key)
    server = await asyncio.start_server(send_back, "127.0.0.1", 0, ssl=tls)
    stack.push_async_callback(server.wait_closed)
    stack.callback(server.close)
    trust = ssl.create_default_context(cadata=authority.certificate.decode())
    port = server.sockets[0].getsockname()[1]
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trust)
    stack.push_async_callback(writer.wait_closed)
    stack.callback(writer.close)
    return reader, writer


def _buffer(writer: asyncio.StreamWriter) -> bytearray:
    """Return the buffer into which the event loop reads from a connection."""
    transport: Any = writer.transport
    buffer = transport._ssl_protocol._ssl_buffer
    assert isinstance(buffer, bytearray)
    return buffer
