"""Nothing is told before it is committed: no answer, no event, no bookmark, no list."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from kapy._aio.clock import loop_clock
from kapy.apiserver.server import BOOKMARK_SECONDS, Server
from kapy.apiserver.store import feed
from kapy.apiserver.store.errors import StoreError
from kapy.apiserver.store.feed import Feed, Notice
from kapy.apiserver.store.sqlite import Row, SqliteLog, Synchronous
from kapy.apps.all_in_one import management_plane
from kapy.apps.settings import Durability, Settings
from tests.apiserver.asking import CONFIG_MAPS, Asking, config_map


def committed(directory: Path) -> int:
    """The revision that another program finds in the file."""
    with closing(sqlite3.connect(directory / "store.db")) as db:
        (found,) = db.execute("SELECT value FROM meta WHERE key = 'revision'").fetchone()
    return int(found)


class SlowDisk:
    """Commits wait, in the thread that makes them, until they are let go."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.free = threading.Event()
        self.reached = threading.Event()
        self.free.set()
        write = SqliteLog.write

        def slow(log: SqliteLog, rows: Sequence[Row], revision: int) -> None:
            self.reached.set()
            assert self.free.wait(60)
            write(log, rows, revision)

        patch.setattr(SqliteLog, "write", slow)

    def stop(self) -> None:
        self.reached.clear()
        self.free.clear()


@asynccontextmanager
async def durable(directory: Path) -> AsyncIterator[Asking]:
    """A running server whose commits survive a loss of power."""
    server = Server.open(directory, clock=loop_clock(), synchronous="FULL")
    try:
        async with asyncio.TaskGroup() as group:
            running = group.create_task(server.run())
            await asyncio.sleep(0)
            yield Asking(server)
            running.cancel()
    finally:
        server.close()


async def test_nothing_is_told_of_a_write_that_is_not_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = SlowDisk(monkeypatch)
    async with durable(tmp_path) as asking:
        await asking.create(CONFIG_MAPS, config_map("before"))
        before = committed(tmp_path)
        disk.stop()
        async with asking.watching(CONFIG_MAPS, resourceVersion=str(before)) as events:
            writing = asyncio.create_task(asking.create(CONFIG_MAPS, config_map("a")))
            event = asyncio.ensure_future(anext(events))
            await asyncio.sleep(0.01)
            await asyncio.get_running_loop().run_in_executor(None, disk.reached.wait, 60)
            await asyncio.sleep(3 * BOOKMARK_SECONDS)
            assert not writing.done()
            assert not event.done()
            assert await asking.gone(f"{CONFIG_MAPS}/a")
            found = await asking.get(CONFIG_MAPS)
            assert [one["metadata"]["name"] for one in found["items"]] == ["before"]
            assert int(found["metadata"]["resourceVersion"]) == before == committed(tmp_path)
            disk.free.set()
            made = await writing
            assert committed(tmp_path) == int(made["metadata"]["resourceVersion"])
            assert (await event)["object"] == made


async def test_a_bookmark_never_has_a_revision_that_is_not_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the timer, and at the end of the first events of a streaming list."""
    disk = SlowDisk(monkeypatch)
    told: list[int] = []
    push = Feed.push

    def noted(self: Feed, notice: Notice) -> None:
        assert notice.revision <= committed(tmp_path), notice.type
        if notice.type == "BOOKMARK":
            told.append(notice.revision)
        push(self, notice)

    monkeypatch.setattr(feed.Feed, "push", noted)
    watch = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
    async with durable(tmp_path) as asking:
        last = 0
        for turn in range(10):
            disk.stop()
            writing = [
                asyncio.create_task(asking.create(CONFIG_MAPS, config_map(f"a{turn}-{number}")))
                for number in range(turn % 4 + 1)
            ]
            await asyncio.sleep(0)
            async with asking.watching(CONFIG_MAPS, allowWatchBookmarks="true", **watch) as events:
                await asyncio.sleep(1.5 * BOOKMARK_SECONDS)
                while (event := await anext(events))["type"] != "BOOKMARK":
                    assert int(event["object"]["metadata"]["resourceVersion"]) <= last
                version = int(event["object"]["metadata"]["resourceVersion"])
                assert version <= committed(tmp_path)
                disk.free.set()
                made = await asyncio.gather(*writing)
                last = max(int(one["metadata"]["resourceVersion"]) for one in made)
    assert len(told) >= 10


@pytest.mark.parametrize(("durability", "level"), [("crash", 1), ("power-loss", 2)])
async def test_the_connection_that_writes_is_as_durable_as_asked(
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
        def execute(self, text: str, *given: object) -> sqlite3.Cursor:  # type: ignore[override]
            if text.startswith("PRAGMA synchronous ="):
                text = "PRAGMA synchronous = OFF"
            return super().execute(text, *given)  # type: ignore[arg-type]

    connect = sqlite3.connect

    def deaf(*given: object, **named: object) -> sqlite3.Connection:
        return connect(*given, **named, factory=Deaf)  # type: ignore[call-overload, no-any-return]

    monkeypatch.setattr(sqlite3, "connect", deaf)
    with pytest.raises(StoreError, match="cannot be written as durably as asked.*level 0"):
        SqliteLog(tmp_path, synchronous=synchronous)
