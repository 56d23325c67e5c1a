"""The store on disk: what is acknowledged stays, in order, and damage is never guessed at."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from kapy._aio.clock import system_clock
from kapy.apiserver.server import Server, StoreError, StoreInUse, StoreTooNew
from kapy.apiserver.store import schema
from kapy.apiserver.store.sqlite import SqliteLog, Synchronous
from kapy.apiserver.store.store import FIRST_REVISION, Store
from kapy.kube import Document
from tests.apiserver.requester import CONFIG_MAPS, GIZMOS, Asking, config_map, gizmo, running


async def test_a_restarted_server_has_its_objects(tmp_path: Path) -> None:
    async with running(tmp_path) as asking:
        result = await asking.create(GIZMOS, gizmo("a"))
        await asking.create(CONFIG_MAPS, config_map("b"))
        await asking.delete(f"{CONFIG_MAPS}/b")
        revision = asking.server.store.revision
    again = Server.open(tmp_path, clock=system_clock)
    try:
        asking = Asking(again)
        assert await asking.get(f"{GIZMOS}/a") == result
        assert await asking.gone(f"{CONFIG_MAPS}/b")
        after = await asking.create(CONFIG_MAPS, config_map("c"))
        assert int(after["metadata"]["resourceVersion"]) > revision
    finally:
        again.close()


async def test_writes_of_one_moment_are_one_transaction(tmp_path: Path) -> None:
    async with running(tmp_path) as asking:
        await asyncio.gather(
            *(asking.create(CONFIG_MAPS, config_map(f"a{number}")) for number in range(50))
        )
        assert len(await asking.names(CONFIG_MAPS)) == 50


async def test_readers_see_a_write_only_when_it_is_safe(tmp_path: Path) -> None:
    async with running(tmp_path) as asking:
        store, table = asking.server.store, asking.server.store.table("configmaps")
        store.put(table, "default", "a", config_map("a", uid="u"))
        staged = (table.latest("default", "a") is not None, table.get("default", "a"))
        await store.wait_for_commit()
        assert staged == (True, None)
        assert table.get("default", "a") is not None


@pytest.mark.parametrize("synchronous", ["NORMAL", "FULL"])
async def test_the_loser_of_a_conflict_can_read_the_winning_write_at_once(
    tmp_path: Path, synchronous: Synchronous
) -> None:
    server = Server.open(tmp_path, clock=system_clock, synchronous=synchronous)
    asking = Asking(server)

    async def lost(path: str, method: str, body: Document, number: int) -> bool:
        status, _ = await asking.ask(method, path, body)
        if status != 409:
            return False
        result = await asking.get(f"{CONFIG_MAPS}/a")
        assert result["data"]["by"] == str(number)
        return True

    async with asyncio.TaskGroup() as group:
        serving = group.create_task(server.run())
        await asyncio.sleep(0)
        document = config_map("a")
        losts = [
            lost(CONFIG_MAPS, "POST", {**document, "data": {"by": str(by)}}, 0) for by in range(3)
        ]
        assert await asyncio.gather(*losts) == [False, True, True]
        version = (await asking.get(f"{CONFIG_MAPS}/a"))["metadata"]["resourceVersion"]
        document = config_map("a", resourceVersion=version)
        patched = [
            lost(f"{CONFIG_MAPS}/a", "PATCH", {**document, "data": {"by": str(by)}}, 4)
            for by in range(4, 7)
        ]
        assert await asyncio.gather(*patched) == [False, True, True]
        serving.cancel()
    server.close()


async def test_a_second_process_is_refused(tmp_path: Path) -> None:
    first = Store.open(tmp_path)
    with pytest.raises(StoreInUse, match="in use by another process"):
        Store.open(tmp_path)
    first.close()
    Store.open(tmp_path).close()


def _meta(path: Path, key: str, value: str) -> None:
    db = sqlite3.connect(path / "store.db")
    db.execute("UPDATE meta SET value = ? WHERE key = ?", (value, key))
    db.commit()
    db.close()


async def test_a_later_schema_is_refused_with_a_sentence(tmp_path: Path) -> None:
    Store.open(tmp_path).close()
    _meta(tmp_path, "schema", "99")
    with pytest.raises(StoreTooNew, match="upgrade kapy or use another data directory"):
        Store.open(tmp_path)


FORMATS = Path(__file__).parents[1] / "data" / "store"
"""A data directory of every released format: of namespace default, two Gizmos, a ConfigMap."""


@pytest.mark.parametrize("directory", sorted(FORMATS.iterdir()), ids=lambda path: path.name)
async def test_every_released_format_is_opened(tmp_path: Path, directory: Path) -> None:
    shutil.copytree(directory, tmp_path / "data")
    for _ in range(2):  # once migrated, and once as it is then
        server = Server.open(tmp_path / "data", clock=system_clock)
        asking = Asking(server)
        assert (await asking.get(f"{GIZMOS}/b"))["spec"] == {"color": "blue", "replicas": 1}
        assert await asking.names(GIZMOS) == ["a", "b"]
        assert (await asking.get(f"{CONFIG_MAPS}/c"))["data"] == {"text": "Grüße, 水豚"}
        assert await asking.gone(f"{CONFIG_MAPS}/gone")
        assert server.store.revision >= 108
        server.close()


async def test_a_migration_is_all_or_nothing_and_keeps_the_old_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(FORMATS / "schema-1", tmp_path, dirs_exist_ok=True)
    before = _schema(tmp_path / "store.db")

    def broken(db: sqlite3.Connection) -> None:
        db.execute("DROP TABLE objects")
        raise sqlite3.OperationalError("disk I/O error")

    with monkeypatch.context() as patch:
        patch.setitem(schema.MIGRATIONS, 1, broken)
        with pytest.raises(StoreError):
            Store.open(tmp_path)
    assert _schema(tmp_path / "store.db") == before
    Store.open(tmp_path).close()
    assert _schema(tmp_path / "store.db") != before
    copy = tmp_path / "store.db.schema-1"
    assert (_schema(copy), copy.stat().st_mode & 0o777) == (before, 0o600)


def _schema(path: Path) -> tuple[str, int]:
    with closing(sqlite3.connect(path)) as db:
        (version,) = db.execute("SELECT value FROM meta WHERE key = 'schema'").fetchone()
        (objects,) = db.execute("SELECT count(*) FROM objects").fetchone()
    return version, objects


async def test_an_unknown_older_format_is_refused(tmp_path: Path) -> None:
    Store.open(tmp_path).close()
    _meta(tmp_path, "schema", "0")
    with pytest.raises(StoreError, match=r"schema 0, which this version of kapy \(schema 3\)"):
        Store.open(tmp_path)


async def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "store.db").write_bytes(b"not a database at all" * 100)
    with pytest.raises(StoreError, match="cannot be read"):
        Store.open(tmp_path)
    (tmp_path / "store.db").unlink()
    Store.open(tmp_path).close()


async def test_a_damaged_object_is_refused(tmp_path: Path) -> None:
    async with running(tmp_path) as asking:
        await asking.create(CONFIG_MAPS, config_map("a"))
    db = sqlite3.connect(tmp_path / "store.db")
    db.execute("UPDATE objects SET document = '{' WHERE name = 'a'")
    db.commit()
    db.close()
    with pytest.raises(StoreError, match="damaged"):
        Store.open(tmp_path)


async def test_a_failed_write_is_reported_and_stores_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path) as asking:
        await asking.create(CONFIG_MAPS, config_map("a"))

        def full(self: SqliteLog, rows: object, revision: int) -> None:
            raise StoreError("writing failed: database or disk is full")

        with monkeypatch.context() as patch:
            patch.setattr(SqliteLog, "write", full)
            status, body = await asking.ask("POST", CONFIG_MAPS, config_map("b"))
        assert (status, "disk is full" in body["message"]) == (503, True)
        assert await asking.names(CONFIG_MAPS) == ["a"]
        await asking.create(CONFIG_MAPS, config_map("b"))
        assert await asking.names(CONFIG_MAPS) == ["a", "b"]


async def test_files_are_private(tmp_path: Path) -> None:
    directory = tmp_path / "data"
    Store.open(directory).close()
    assert directory.stat().st_mode & 0o777 == 0o700
    assert (directory / "store.db").stat().st_mode & 0o777 == 0o600


async def test_full_synchronous_writes_are_acknowledged_too(tmp_path: Path) -> None:
    server = Server.open(tmp_path, clock=system_clock, synchronous="FULL")
    asking = Asking(server)
    await asking.create("/api/v1/namespaces", {"metadata": {"name": "default"}})
    await asyncio.gather(
        *(asking.create(CONFIG_MAPS, config_map(f"a{number}")) for number in range(20))
    )
    assert len(await asking.names(CONFIG_MAPS)) == 20
    server.close()


async def test_history_is_bounded_by_bytes() -> None:
    async with running() as asking:
        for number in range(300):
            await asking.create(
                CONFIG_MAPS, {**config_map(f"a{number}"), "data": {"x": "y" * 1000}}
            )
        history = asking.server.store.history
        assert history.floor > 200
        assert len(history.since("configmaps", history.floor)) < 100


async def test_a_waiting_writer_is_woken_in_the_next_turn_and_can_be_cancelled_alone(
    tmp_path: Path,
) -> None:
    store = Store.open(tmp_path)
    table = store.table("configmaps")
    turns: list[str] = []

    async def write(name: str) -> None:
        store.put(table, "n", name, {"metadata": {"name": name}})
        await store.wait_for_commit()
        turns.append(name)

    async with asyncio.TaskGroup() as group:
        first, removal, last = (group.create_task(write(name)) for name in "abc")
        await asyncio.sleep(0)  # all have staged, the transaction begins with the next turn
        removal.cancel()
        await asyncio.sleep(0)
        assert store.revision > FIRST_REVISION
        assert turns == []
        await asyncio.sleep(0)
        assert turns == ["a", "c"]
        assert [first.done(), removal.cancelled(), last.done()] == [True, True, True]
    store.close()
