"""A store that is written to for ever stays as large as what is in it."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from kapy.apiserver.store import schema, sqlite
from kapy.apiserver.store.sqlite import SqliteLog
from kapy.apiserver.store.store import COMPACTION_SECONDS, DURABLE_HISTORY, Store
from kapy.apiserver.store.watch_cache import WatchCache
from kapy.kube import Document
from tests.apiserver.requester import CONFIG_MAPS, config_map, running

KIB, MIB = 2**10, 2**20


def files(directory: Path) -> int:
    """Bytes of all files of a data directory."""
    return sum(path.stat().st_size for path in directory.iterdir())


def note(number: int, size: int) -> Document:
    name = f"a{number}"
    document = config_map(name, namespace="default", uid=name)
    return {**document, "data": {"text": "x" * size}}


async def test_fifty_thousand_updates_do_not_grow_the_store(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    table = store.table("configmaps")
    largest = 0
    for turn in range(50_000 // 50):
        for number in range(50):
            store.put(table, "default", f"a{number % 10}", note(number % 10, 2 * KIB + turn))
        await store.wait_for_commit()
        largest = max(largest, files(tmp_path))
    assert store.revision > 50_000
    assert largest < sqlite._WAL_LIMIT + 1 * MIB
    assert store.history._weight <= DURABLE_HISTORY
    assert sum(len(event.after.encoded) for event in store.history._events) <= DURABLE_HISTORY
    superseded = [event.after for event in store.history._events if event.name == "a0"][:-1]
    assert {stored_object.document for stored_object in superseded} == {None}
    store.close()
    assert files(tmp_path) < 1 * MIB


def test_the_room_of_deleted_objects_is_released(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "_TIDY_EVERY", 16)
    log = SqliteLog(tmp_path)
    assert list(log.rows()) == []
    log.begin()
    rows = [("configmaps", "default", f"a{number}", b"x" * 4 * KIB) for number in range(2000)]
    proofs = [schema.checksum(*row) for row in rows]
    log.write([(*row, proof, None) for row, proof in zip(rows, proofs, strict=True)], 2000)
    log.write([(*row[:3], None, 0, proof) for row, proof in zip(rows, proofs, strict=True)], 4000)
    entry = ("configmaps", "default", "b", b"x" * 100)
    log.write([(*entry, schema.checksum(*entry), None)], 4001)
    for revision in range(4002, 4002 + 20 * sqlite._TIDY_EVERY):
        log.write([(*entry, schema.checksum(*entry), schema.checksum(*entry))], revision)
    log.close()
    with closing(sqlite3.connect(tmp_path / "store.db")) as db:
        (pages,) = db.execute("PRAGMA page_count").fetchone()
    assert pages * 4 * KIB < 2 * MIB < len(rows) * 4 * KIB


async def test_the_watch_history_is_compacted() -> None:
    async with running() as asking:
        config_maps = await asking.create(CONFIG_MAPS, config_map("a"))
        version = config_maps["metadata"]["resourceVersion"]
        await asking.create(CONFIG_MAPS, config_map("b"))
        for elapsed, expected in ((0.9, "ADDED"), (1.2, "ERROR")):
            await asyncio.sleep(elapsed * COMPACTION_SECONDS)
            async with asking.watching(CONFIG_MAPS, resourceVersion=version) as events:
                event = await anext(events)
            assert event["type"] == expected
        assert event["object"]["code"] == 410
        async with asking.watching(CONFIG_MAPS, allowWatchBookmarks="true") as events:
            types = [(await anext(events))["type"] for _ in range(3)]
        assert types == ["ADDED", "ADDED", "BOOKMARK"]


async def test_a_compaction_is_not_ahead_of_a_revision_that_was_set_back() -> None:
    store = Store()
    store.set_revision(20_000)
    async with asyncio.TaskGroup() as group:
        compaction = group.create_task(store.run_compaction())
        await asyncio.sleep(1)
        store.set_revision(10_000)
        store.history = WatchCache(store.history.limit, store.revision)
        await asyncio.sleep(COMPACTION_SECONDS)
        compaction.cancel()
    assert store.history.floor == 10_000


@pytest.mark.parametrize(("synchronous", "number"), [("NORMAL", 1), ("FULL", 2)])
def test_the_durability_setting_reaches_sqlite(
    tmp_path: Path, synchronous: sqlite.Synchronous, number: int
) -> None:
    log = SqliteLog(tmp_path, synchronous=synchronous)
    assert log._db.execute("PRAGMA synchronous").fetchone() == (number,)
    log.close()
