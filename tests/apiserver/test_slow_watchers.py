"""Watchers who do not keep up are cut, and whoever resumes misses nothing."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from kapy.apiserver.server import BOOKMARK_SECONDS
from kapy.apiserver.serving import asgi
from kapy.apiserver.store import watcher
from kapy.apiserver.verbs.watch import LIFE
from tests.apiserver.network_client import Calls
from tests.apiserver.requester import (
    CONFIG_MAPS,
    SECRETS,
    Asking,
    config_map,
    running,
    taken,
)
from tests.apiserver.requests.test_metrics import scraped
from tests.apiserver.test_serving import served
from tests.waiting import LIMIT, until


def large(name: str) -> dict[str, Any]:
    return {**config_map(name), "data": {"a": "x" * 100_000}}


@pytest.mark.parametrize(("bound", "value"), [("LIMIT", 3), ("BYTES", 350_000)])
async def test_a_watcher_that_does_not_read_is_disconnected_and_resumes(
    bound: str, value: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watcher, bound, value)
    names = [f"a{number}" for number in range(6)]
    async with running(tmp_path) as asking:
        calls = Calls(asking.server)
        version = (await asking.get(CONFIG_MAPS))["metadata"]["resourceVersion"]
        async with (
            asking.watching(CONFIG_MAPS, resourceVersion=version) as slow,
            asking.watching(CONFIG_MAPS, resourceVersion=version) as quick,
        ):
            events = []
            for name in names:
                await asking.create(CONFIG_MAPS, large(name))
                events += await taken(quick, 1)
            assert [event async for event in slow] == []  # a gap would be worse than the end
        assert [name for _, name in events] == names
        monkeypatch.undo()
        async with asking.watching(CONFIG_MAPS, resourceVersion=version) as again:
            assert await taken(again, 6) == events
        result = await scraped(calls)
        assert result.sum("apiserver_terminated_watchers_total", resource="configmaps") == 1


async def test_initial_events_do_not_count_towards_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(watcher, "LIMIT", 3)
    async with running() as asking:
        for number in range(10):
            await asking.create(CONFIG_MAPS, config_map(f"a{number}"))
        async with asking.watching(CONFIG_MAPS, resourceVersion="0") as stream:
            for number in range(3):
                await asking.create(CONFIG_MAPS, config_map(f"b{number}"))
            names = [name for _, name in await taken(stream, 13)]
            assert names[-3:] == ["b0", "b1", "b2"]


async def test_a_watch_over_the_network_does_not_continue_for_ever() -> None:
    async with running() as asking:
        loop = asyncio.get_running_loop()
        began = loop.time()
        answer = await Calls(asking.server).call("GET", f"{CONFIG_MAPS}?watch=1")
        assert answer.status == 200
        assert LIFE <= loop.time() - began <= 2 * LIFE


async def bookmarks(asking: Asking, work: Callable[[], Awaitable[None]]) -> list[str]:
    """The resourceVersions of the bookmarks of a watch of 190 seconds, while work is done."""
    target = f"{CONFIG_MAPS}?watch=1&allowWatchBookmarks=true&timeoutSeconds=190"
    answer, _ = await asyncio.gather(Calls(asking.server).call("GET", target), work())
    events = [json.loads(line) for line in answer.content.splitlines()]
    initial, *marks = [event for event in events if event["type"] == "BOOKMARK"]
    assert initial["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    return [event["object"]["metadata"]["resourceVersion"] for event in marks]


async def test_a_watcher_gets_a_bookmark_every_minute() -> None:
    async with running() as asking:
        versions = []

        async def write_elsewhere() -> None:
            for number in range(3):
                await asyncio.sleep(BOOKMARK_SECONDS - 1)
                secret = {**config_map(f"a{number}"), "kind": "Secret"}
                document = await asking.create(SECRETS, secret)
                versions.append(document["metadata"]["resourceVersion"])

        assert await bookmarks(asking, write_elsewhere) == versions


async def test_a_watcher_gets_no_repeated_bookmark() -> None:
    async with running() as asking:

        async def write_once() -> None:
            await asyncio.sleep(1)
            await asking.create(CONFIG_MAPS, config_map("a"))

        assert await bookmarks(asking, write_once) == []


@asynccontextmanager
async def reading_nothing(url: str, path: str) -> AsyncIterator[asyncio.StreamReader]:
    """A connection whose watch was asked for, and of which nobody reads."""
    tls = ssl.create_default_context()
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    host, _, port = url.removeprefix("https://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port), ssl=tls, limit=1)
    head = f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\n\r\n"
    writer.write(head.encode())
    try:
        yield reader
    finally:
        writer.transport.abort()


@pytest.mark.sockets
async def test_an_unread_connection_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watcher, "BYTES", 1_000_000)
    monkeypatch.setattr(asgi, "CUT_SECONDS", 0.2)
    async with served() as (url, server):
        asking = Asking(server)
        feeds = server.store.table("configmaps").watchers
        async with (
            reading_nothing(url, f"{CONFIG_MAPS}?watch=1"),
            asking.watching(CONFIG_MAPS) as other,
        ):
            await until(lambda: len(feeds) == 2)
            count = 0
            async with asyncio.timeout(LIMIT):
                while len(feeds) > 1:
                    await asking.create(CONFIG_MAPS, large(f"a{count}"))
                    count += len(await taken(other, 1))
                    await asyncio.sleep(0.001)
            assert count > 10
            await until(lambda: server.context.metrics.cut["configmaps"] == 1)
