"""Events of servers that do not write one a line."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from kapy.client.client import Client
from kapy.client.https import ApiTransport
from kapy.client.json_stream import JsonStream
from kapy.client.kubeconfig import Kubeconfig
from kapy.kube import Document
from kapy.kube.errors import Unreachable
from kapy.kube.names import CONFIG_MAPS

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)
DOCUMENTS = st.dictionaries(st.text(max_size=3), VALUES, max_size=3)


@given(
    documents=st.lists(DOCUMENTS, max_size=3),
    indent=st.sampled_from((None, 1)),
    between=st.sampled_from(("", "\n")),
    ascii_only=st.booleans(),
    cut=st.integers(1, 40),
)
def test_documents_are_split_independently_of_chunks(
    documents: list[Document], indent: int | None, between: str, ascii_only: bool, cut: int
) -> None:
    texts = (json.dumps(document, indent=indent, ensure_ascii=ascii_only) for document in documents)
    body = between.join(texts).encode()
    events, documents_read = JsonStream(b"", 1 << 20), []
    for begin in range(0, len(body), cut):
        events.feed(body[begin : begin + cut])
        while (parsed := events.next()) is not None:
            documents_read.append(parsed)
    assert documents_read == documents
    assert not events.has_rest


@asynccontextmanager
async def telling(body: bytes) -> AsyncIterator[Client]:
    """A client of a server whose watches tell this and end."""

    async def answer(_: web.Request) -> web.Response:
        return web.Response(body=body, content_type="application/json")

    application = web.Application()
    application.router.add_get("/{path:.*}", answer)
    async with AsyncExitStack() as stack:
        runner = web.AppRunner(application)
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0]
        transport = ApiTransport(Kubeconfig(f"http://{host}:{port}"))
        stack.push_async_callback(transport.aclose)
        yield Client(transport)


async def names(client: Client) -> list[str]:
    async with client.watch(CONFIG_MAPS) as events:
        return [event.document["metadata"]["name"] async for event in events]


def event(name: str, indent: int | None = None) -> str:
    return json.dumps({"type": "ADDED", "object": {"metadata": {"name": name}}}, indent=indent)


@pytest.mark.sockets
async def test_events_of_a_watch_may_be_indented() -> None:
    body = f"{event('one')}\n{event('two', 1)}{event('three', 1)}{event('four')}\n"
    async with telling(body.encode()) as client:
        assert await names(client) == ["one", "two", "three", "four"]


@pytest.mark.sockets
@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("<html>the proxy is not amused</html>\n", "not JSON"),
        (f"{event('one')}\n[1, 2]\n", "not an object"),
        (f"{event('one', 1)}\n{event('two', 1)[:-9]}", "middle of an event"),
    ],
)
async def test_a_line_that_is_not_an_event_is_reported(body: str, why: str) -> None:
    async with telling(body.encode()) as client:
        with pytest.raises(Unreachable, match=why):
            await names(client)
