"""Nothing is told before it is committed: no answer, no event, no bookmark, no list."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from kapy._aio.clock import loop_clock
from kapy.apiserver.server import BOOKMARK_SECONDS, Server
from kapy.apiserver.store.errors import StoreError
from kapy.apiserver.store.sqlite import SqliteLog, Synchronous
from kapy.apiserver.store.watcher import Watcher, WatchEvent
from kapy.apps.all_in_one import management_plane
from kapy.apps.settings import Durability, Settings
from kapy.kube import Document
from tests.apiserver.requester import CONFIG_MAPS, SECRETS, Asking, config_map


def committed(directory: Path) -> int:
    """The revision that another program finds in the file."""
    with closing(sqlite3.connect(directory / "store.db")) as db:
        (result,) = db.execute("SELECT value FROM meta WHERE key = 'revision'").fetchone()
    return int(result)


class SlowDisk:
    """A disk on which commits wait until they are let go, for virtual time."""

    def __init__(self, group: asyncio.TaskGroup, patch: pytest.MonkeyPatch) -> None:
        self.free = asyncio.Event()
        self.free.set()
        self.reached = asyncio.Event()
        loop = asyncio.get_running_loop()
        at_once = loop.run_in_executor

        def run(executor: None, work: Callable[..., None], *arguments: object) -> object:
            if getattr(work, "__func__", None) is not SqliteLog.write:
                return at_once(executor, work, *arguments)
            done = loop.create_future()
            group.create_task(self._write(done, work, arguments))
            return done

        patch.setattr(loop, "run_in_executor", run)

    async def _write(
        self, done: asyncio.Future[None], work: Callable[..., None], arguments: Sequence[object]
    ) -> None:
        self.reached.set()
        await self.free.wait()
        work(*arguments)
        done.set_result(None)

    def stop(self) -> None:
        self.reached.clear()
        self.free.clear()


@asynccontextmanager
async def durable(
    directory: Path, patch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[Asking, SlowDisk, asyncio.TaskGroup]]:
    """A running server whose commits survive a loss of power, and take their time."""
    server = Server.open(directory, clock=loop_clock(), synchronous="FULL")
    try:
        async with asyncio.TaskGroup() as group:
            disk = SlowDisk(group, patch)
            running = group.create_task(server.run())
            await asyncio.sleep(1)
            yield Asking(server), disk, group
            running.cancel()
    finally:
        server.close()


async def test_uncommitted_writes_are_not_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with durable(tmp_path, monkeypatch) as (asking, disk, group):
        await asking.create(CONFIG_MAPS, config_map("before"))
        before = committed(tmp_path)
        disk.stop()
        async with asking.watching(CONFIG_MAPS, resourceVersion=str(before)) as events:
            writing = group.create_task(asking.create(CONFIG_MAPS, config_map("a")))
            event = group.create_task(_next(events))
            await disk.reached.wait()
            await asyncio.sleep(3 * BOOKMARK_SECONDS)
            assert not writing.done()
            assert not event.done()
            assert await asking.gone(f"{CONFIG_MAPS}/a")
            config_maps = await asking.get(CONFIG_MAPS)
            assert [item["metadata"]["name"] for item in config_maps["items"]] == ["before"]
            assert int(config_maps["metadata"]["resourceVersion"]) == before == committed(tmp_path)
            disk.free.set()
            result = await writing
            assert committed(tmp_path) == int(result["metadata"]["resourceVersion"])
            assert (await event)["object"] == result


async def _next(events: AsyncIterator[Document]) -> Document:
    return await anext(events)


async def versions(events: AsyncIterator[Document], bookmarks: int) -> list[int]:
    """The resourceVersions of the events up to so many bookmarks."""
    result = []
    while bookmarks:
        event = await anext(events)
        bookmarks -= event["type"] == "BOOKMARK"
        result.append(int(event["object"]["metadata"]["resourceVersion"]))
    return result


async def test_a_bookmark_has_a_committed_revision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the timer, and at the end of the first events of a streaming list."""
    entries: list[bool] = []
    push = Watcher.push

    def noted(self: Watcher, notice: WatchEvent) -> None:
        entries.append(notice.revision <= committed(tmp_path))
        push(self, notice)

    request = {"allowWatchBookmarks": "true", "sendInitialEvents": "true"}
    async with durable(tmp_path, monkeypatch) as (asking, disk, group):
        monkeypatch.setattr(Watcher, "push", noted)
        for turn in range(10):
            async with asking.watching(
                CONFIG_MAPS, resourceVersionMatch="NotOlderThan", **request
            ) as early:
                await asking.create(SECRETS, {**config_map(f"b{turn}"), "kind": "Secret"})
                disk.stop()
                writing = [
                    group.create_task(asking.create(CONFIG_MAPS, config_map(f"a{turn}-{number}")))
                    for number in range(turn % 4 + 1)
                ]
                await disk.reached.wait()
                async with asking.watching(
                    CONFIG_MAPS, resourceVersionMatch="NotOlderThan", **request
                ) as events:
                    await asyncio.sleep(1.5 * BOOKMARK_SECONDS)
                    for version in [*await versions(events, 1), *await versions(early, 2)]:
                        assert version <= committed(tmp_path)
                disk.free.set()
                await asyncio.gather(*writing)
    assert all(entries)
    assert len(entries) >= 20


@pytest.mark.parametrize(("durability", "level"), [("crash", 1), ("power-loss", 2)])
async def test_the_writing_connection_has_the_requested_durability(
    tmp_path: Path, durability: Durability, level: int
) -> None:
    settings = Settings(data=tmp_path, durability=durability)
    async with management_plane(settings, clock=loop_clock()) as plane:
        log = plane.server.store._log
        assert log is not None
        assert log._db.execute("PRAGMA synchronous").fetchone() == (level,)
        assert log._db.execute("PRAGMA fullfsync").fetchone() == (int(level == 2),)
        assert log._db.execute("PRAGMA journal_mode").fetchone() == ("wal",)


@pytest.mark.parametrize("synchronous", ["NORMAL", "FULL"])
def test_a_level_that_sqlite_does_not_set_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, synchronous: Synchronous
) -> None:
    class Deaf(sqlite3.Connection):
        def execute(self, text: str, *arguments: object) -> sqlite3.Cursor:
            if text.startswith("PRAGMA synchronous ="):
                text = "PRAGMA synchronous = OFF"
            return super().execute(text, *arguments)  # type: ignore[arg-type, unused-ignore]

    connect = sqlite3.connect

    def deaf(*arguments: object, **named: object) -> sqlite3.Connection:
        return connect(*arguments, **named, factory=Deaf)  # type: ignore[call-overload, no-any-return]

    monkeypatch.setattr(sqlite3, "connect", deaf)
    with pytest.raises(StoreError, match=r"cannot be written as durably as asked.*level 0"):
        SqliteLog(tmp_path, synchronous=synchronous)
