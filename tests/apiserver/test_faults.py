"""Tests of faults in the file of a store: writes are refused with the reason, and reads go on."""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, closing, contextmanager
from pathlib import Path

import pytest

from kapy.apiserver.store import sqlite
from kapy.apiserver.store.errors import StoreDamaged, StoreError
from kapy.apiserver.store.store import RETRY_SECONDS, Store
from kapy.kube import Document
from tests.apiserver.requester import CONFIG_MAPS, Asking, config_map, running

ROOT = Path(__file__).parents[2]
PAGE = 4096


def log_of(asking: Asking) -> sqlite3.Connection:
    """The server's own connection to its file."""
    log = asking.server.store._log
    assert log is not None
    return log._db


def text(size: int) -> str:
    return "x" * size


@contextmanager
def full_disk(asking: Asking, _: Path) -> Iterator[None]:
    db = log_of(asking)
    (pages,) = db.execute("PRAGMA page_count").fetchone()
    db.execute(f"PRAGMA max_page_count = {pages}")
    yield
    db.execute("PRAGMA max_page_count = 1000000")


@contextmanager
def short_file(_: Asking, directory: Path) -> Iterator[None]:
    """No file of this process may grow beyond what the write-ahead log has already."""
    size = (directory / "store.db-wal").stat().st_size
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def read_only(asking: Asking, _: Path) -> Iterator[None]:
    log_of(asking).execute("PRAGMA query_only = ON")
    yield
    log_of(asking).execute("PRAGMA query_only = OFF")


@contextmanager
def locked(_: Asking, directory: Path) -> Iterator[None]:
    with closing(sqlite3.connect(directory / "store.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (full_disk, "full.*free some space"),
        (short_file, "I/O error|full"),
        (read_only, "readonly.*make the file and its file system writable"),
        (locked, "locked.*another program holds a lock"),
    ],
)
async def test_the_store_survives_temporary_faults(
    tmp_path: Path, fault: Callable[[Asking, Path], AbstractContextManager[None]], says: str
) -> None:
    async with running(tmp_path) as asking:
        store = asking.server.store
        await asking.create(CONFIG_MAPS, config_map("before"))
        with fault(asking, tmp_path):
            big = {**config_map("lost"), "data": {"text": text(40 * PAGE)}}
            status, body = await asking.ask("POST", CONFIG_MAPS, big)
            assert (status, body["reason"]) == (503, "ServiceUnavailable")
            with pytest.raises(StoreError, match=says):
                raise StoreError(body["message"])
            assert store.failure == body["message"]
            assert await asking.names(CONFIG_MAPS) == ["before"]
        await asyncio.sleep(1.5 * RETRY_SECONDS)  # nobody writes, and yet it is noticed
        assert store.failure is None
        config_maps = await asking.create(CONFIG_MAPS, config_map("after"))
    again = Store.open(tmp_path)
    assert [document["metadata"]["name"] for document in again.table("configmaps").scan("")] == [
        "after",
        "before",
    ]
    assert again.revision >= int(config_maps["metadata"]["resourceVersion"])
    again.close()


def vanished(directory: Path) -> None:
    (directory / "store.db-wal").unlink()


def replaced(directory: Path) -> None:
    shutil.copy(directory / "store.db-wal", directory / "copy")
    (directory / "copy").replace(directory / "store.db-wal")


def restored(directory: Path) -> None:
    with closing(sqlite3.connect(directory / "store.db")) as other:
        other.execute("UPDATE meta SET value = '5' WHERE key = 'revision'")
        other.commit()


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (vanished, "was removed or replaced while the server ran"),
        (replaced, "was removed or replaced while the server ran"),
        (restored, "another program has changed"),
    ],
)
async def test_a_replaced_or_damaged_store_file_is_not_written_to(
    tmp_path: Path, fault: Callable[[Path], None], says: str
) -> None:
    async with running(tmp_path) as asking:
        await asking.create(CONFIG_MAPS, config_map("before"))
        fault(tmp_path)
        for name in ("lost", "lost-too"):
            status, body = await asking.ask("POST", CONFIG_MAPS, config_map(name))
            assert (status, says in body["message"]) == (503, True)
        await asyncio.sleep(10 * RETRY_SECONDS)
        assert says in (asking.server.store.failure or "")
        assert await asking.names(CONFIG_MAPS) == ["before"]


async def test_writes_of_another_program_to_the_database_are_noticed(tmp_path: Path) -> None:
    async with running(tmp_path) as asking:
        await asking.create(CONFIG_MAPS, config_map("a"))
        with closing(sqlite3.connect(tmp_path / "store.db")) as other:
            other.execute("DELETE FROM objects WHERE name = 'a'")
            other.commit()
        answers = [
            await asking.ask("POST", CONFIG_MAPS, config_map(f"b{number}"))
            for number in range(sqlite._LOOK_EVERY)
        ]
        assert {status for status, _ in answers} <= {201, 503}
        assert "another program has changed" in answers[-1][1]["message"]


@asynccontextmanager
async def filled(directory: Path) -> AsyncIterator[Asking]:
    async with running(directory) as asking:
        for number in range(50):
            await asking.create(
                CONFIG_MAPS, {**config_map(f"a{number}"), "data": {"text": text(3000)}}
            )
        yield asking


def flip(path: Path, at: int) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        (number,) = file.read(1)
        file.seek(at)
        file.write(bytes([number ^ 1]))


async def test_a_flipped_bit_anywhere_is_found_at_the_start(tmp_path: Path) -> None:
    async with filled(tmp_path / "good"):
        pass
    content = (tmp_path / "good" / "store.db").read_bytes()
    texts = [content.find(b"x" * 64, page, page + PAGE) for page in range(0, len(content), PAGE)]
    assert sum(at >= 0 for at in texts) > 30
    for at in texts[:: len(texts) // 20]:
        directory = tmp_path / str(at)
        if at < 0:
            continue  # a page without text: SQLite looks after that one
        shutil.copytree(tmp_path / "good", directory)
        flip(directory / "store.db", at + 10)
        with pytest.raises(StoreDamaged, match=r"configmaps default/a\d+ is damaged.*kapy restore"):
            Store.open(directory)


async def test_a_page_that_is_damaged_while_the_server_runs_ends_writing_only(
    tmp_path: Path,
) -> None:
    async with filled(tmp_path) as asking:
        db = log_of(asking)
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        db.execute("PRAGMA shrink_memory")
        file = tmp_path / "store.db"
        size = file.stat().st_size
        with file.open("r+b") as damaged:
            damaged.seek(PAGE)
            damaged.write(os.urandom(size - PAGE))
        with closing(sqlite3.connect(file)) as other, pytest.raises(sqlite3.DatabaseError):
            other.execute("SELECT count(*), sum(length(document)) FROM objects").fetchone()
        db.execute("PRAGMA cache_size = 0")
        status, body = 201, Document()
        for number in range(20):
            if status == 201:
                status, body = await asking.ask("POST", CONFIG_MAPS, config_map(f"b{number}"))
        assert (status, "is damaged" in body["message"]) == (503, True)
        assert "is damaged" in (asking.server.store.failure or "")
        assert len(await asking.names(CONFIG_MAPS)) >= 50


def test_a_folder_that_cannot_be_written_to_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    with pytest.raises(StoreError, match=r"cannot be used: (File exists|Not a directory)"):
        Store.open(tmp_path / "data")
    (tmp_path / "folder" / "store.db").mkdir(parents=True)
    with pytest.raises(StoreError, match="make it and its directory writable"):
        Store.open(tmp_path / "folder")


async def test_revisions_are_not_reused_after_a_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a loss of power: the last writes may be gone, their revisions may be known."""
    async with running(tmp_path / "one") as asking:
        await asking.create(CONFIG_MAPS, config_map("a"))
        shutil.copytree(tmp_path / "one", tmp_path / "two")
        before = asking.server.store.revision
    monkeypatch.setattr(sqlite, "boot_id", lambda: "another")
    for directory, jumped in (("one", False), ("two", True)):
        store = Store.open(tmp_path / directory)
        assert (store.revision >= before + sqlite.REVISION_JUMP) is jumped
        store.close()


_HOLDER = """
import sys, time
from pathlib import Path
from kapy.apiserver.store.store import Store
Store.open(Path(sys.argv[1]))
print("open", flush=True)
time.sleep(60)
"""


def test_a_second_process_is_refused(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(tmp_path)], stdout=subprocess.PIPE, cwd=ROOT
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(StoreError, match="in use by another process"):
            Store.open(tmp_path)
        process.kill()
    Store.open(tmp_path).close()


async def test_a_server_that_ends_while_nothing_can_be_written_ends(tmp_path: Path) -> None:
    async with running(tmp_path) as asking:
        await asking.create(CONFIG_MAPS, config_map("before"))
        store = asking.server.store
        table = store.table("configmaps")
        log_of(asking).execute("PRAGMA query_only = ON")
        store.put(table, "default", "late", config_map("late", uid="u"))
        store.close()
        with pytest.raises(StoreError, match="the server is stopping"):
            store.put(table, "default", "later", config_map("later", uid="u"))
        assert await asking.names(CONFIG_MAPS) == ["before"]
