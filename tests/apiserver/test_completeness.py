"""Damage to the files of a store that was killed: all that was acknowledged is there, or the start
is refused with the remedy.

Two kills with 40 damages each; KAPY_SEEDS=200 for more.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import struct
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from kapy._aio.clock import EPOCH
from kapy.apiserver.store import schema, sqlite
from kapy.apiserver.store.copies import copy_store
from kapy.apiserver.store.errors import DataLost, StoreDamaged, StoreError
from kapy.apiserver.store.mark import MarkFile, boot_number, read_mark
from kapy.apiserver.store.sqlite import REVISION_JUMP, Row, SqliteLog
from kapy.apiserver.store.store import Store
from tests.apiserver.test_durability import SEEDS, _content, _in_flight, _killed, said_by

KILLS = max(2, SEEDS // 10)
DAMAGES = 40
FILES = ("store.db", "store.db-wal", "store.db-shm", "store.mark")
FRAME = 4096 + 24
"""Bytes of a frame of the write-ahead log, after its header of 32 bytes."""


def damage(directory: Path, random: Random) -> str:
    """Damage one file at random; answers what was done."""
    path = directory / random.choices(FILES, (3, 5, 1, 2))[0]
    size = path.stat().st_size
    what = random.choices(("flip", "truncate", "delete", "zero"), (6, 2, 1, 1))[0]
    if what == "delete":
        path.unlink()
    elif what == "truncate":
        with path.open("r+b") as file:
            file.truncate(random.randrange(size))
    else:
        at = random.randrange(size)
        with path.open("r+b") as file:
            file.seek(at)
            before = file.read(1 if what == "flip" else 4096)
            file.seek(at)
            bit = 1 << random.randrange(8)
            file.write(bytes([before[0] ^ bit]) if what == "flip" else bytes(len(before)))
        what = f"{what} at {at} of"
    return f"{what} {path.name}"


@pytest.mark.parametrize("seed", range(1000, 1000 + KILLS))
def test_no_acknowledged_write_is_lost_silently(tmp_path: Path, seed: int) -> None:
    killed = tmp_path / "killed"
    messages = _killed(killed, seed, 1)
    wanted = {name: value for _, name, value, _ in said_by(messages, "done")}
    maybe = _in_flight(messages)
    assert wanted
    random, outcomes = Random(seed), set()
    for number in range(DAMAGES):
        here = tmp_path / str(number)
        shutil.copytree(killed, here)
        done = damage(here, random)
        try:
            _, stored = _content(here)
        except StoreError as error:
            message = str(error)
            assert "kapy restore" in message or "later version" in message, (done, message)
            outcomes.add("refused")
        else:
            lost = {
                name
                for name, value in wanted.items()
                if stored.get(name, "-") != value and (name, stored.get(name, "-")) not in maybe
            }
            assert lost == set(), done
            outcomes.add("complete")
        shutil.rmtree(here)
    assert outcomes == {"refused", "complete"}


def filled(directory: Path, writes: int = 20) -> SqliteLog:
    """A store with objects a0, a1 …, each written in a transaction of its own; it is open."""
    log = SqliteLog(directory, clock=lambda: EPOCH)
    assert list(log.rows()) == []
    assert log.begin() == 0
    for number in range(1, writes + 1):
        before = b"%d" % (number - 7) if number > 7 else None
        log.write([row(f"a{number % 7}", b"%d" % number, before)], number)
    return log


def row(name: str, document: bytes, before: bytes | None = None) -> Row:
    """A ConfigMap that takes the place of what was before."""
    key = ("configmaps", "default", name)
    old = None if before is None else schema.checksum(*key, before)
    return (*key, document, schema.checksum(*key, document), old)


def copy_of(log: SqliteLog, to: Path) -> Path:
    """The files as after `kill -9`."""
    shutil.copytree(log._directory, to)
    return to


def test_a_log_cut_before_any_transaction_is_noticed(tmp_path: Path) -> None:
    log = filled(tmp_path / "here")
    size = (tmp_path / "here" / "store.db-wal").stat().st_size
    frames = (size - 32) // FRAME
    assert frames > 20
    for frame in range(frames + 1):
        there = copy_of(log, tmp_path / str(frame))
        with (there / "store.db-wal").open("r+b") as file:
            file.truncate(32 + frame * FRAME)
        if frame == frames:
            Store.open(there).close()
            continue
        with pytest.raises(DataLost, match=r"log .* missing or damaged"):
            Store.open(there)
        if frame:  # what is left of the log stays, although SQLite deletes it
            number = (there / "store.db-wal.damaged").stat().st_size
            assert number == 32 + frame * FRAME
        with pytest.raises(DataLost, match="kapy up --accept-data-loss"):
            Store.open(there)
        accepted = Store.open(there, accept_loss=True)
        assert accepted.revision > 20 + REVISION_JUMP - 1
        accepted.close()
        Store.open(there).close()
    log.close()


def gone(name: str) -> Callable[[Path], object]:
    return lambda directory: (directory / name).unlink()


def emptied(name: str) -> Callable[[Path], object]:
    return lambda directory: (directory / name).write_bytes(b"")


def without_file_and_mark(directory: Path) -> None:
    (directory / "service-account.key").write_bytes(b"a key")
    for name in ("store.db", "store.db-wal", "store.db-shm", "store.mark"):
        (directory / name).unlink()


def of_another_store(directory: Path) -> None:
    other = filled(directory / "other", 30)
    other.close()
    shutil.copy(directory / "other" / "store.mark", directory / "store.mark")


def of_an_older_format(directory: Path) -> None:
    for name in ("store.db-wal", "store.db-shm"):
        (directory / name).unlink()
    released = Path(__file__).parents[1] / "data" / "store" / "schema-2" / "store.db"
    shutil.copy(released, directory / "store.db")


def stale_object(directory: Path) -> None:
    """As after a write that a disk lost: the object is sound, and not the latest one."""
    with closing(sqlite3.connect(directory / "store.db")) as db:
        stale = ("configmaps", "default", "a3", b"3")
        db.execute(schema.PUT, (*stale, schema.checksum(*stale)))
        db.commit()


def lost_object(directory: Path) -> None:
    with closing(sqlite3.connect(directory / "store.db")) as db:
        db.execute("DELETE FROM objects WHERE name = 'a3'")
        db.commit()


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (gone("store.db"), "store.db is missing, but store.mark tells of revision 20"),
        (emptied("store.db"), "store.db is empty, but store.mark tells of revision 20"),
        (gone("store.mark"), "store.mark is missing or cannot be read"),
        (emptied("store.mark"), "store.mark is missing or cannot be read"),
        (without_file_and_mark, r"store.db is missing, but .*service-account\.key"),
        (of_another_store, "store.mark belongs to another file"),
        (of_an_older_format, "is empty or of an older format"),
        (stale_object, "missing or of an earlier revision"),
        (lost_object, "missing or of an earlier revision"),
    ],
)
def test_a_store_with_missing_data_is_refused_until_the_loss_is_accepted(
    tmp_path: Path, fault: Callable[[Path], object], says: str
) -> None:
    log = filled(tmp_path / "here")
    there = copy_of(log, tmp_path / "there")
    log.close()
    fault(there)
    for _ in range(2):  # a refusal changes nothing
        with pytest.raises(DataLost, match=says) as refused:
            Store.open(there)
        assert "kapy restore" in str(refused.value)
        assert "kapy up --accept-data-loss" in str(refused.value)
    Store.open(there, accept_loss=True).close()
    Store.open(there).close()


@pytest.mark.parametrize("fault", [gone("store.db-wal"), gone("store.mark"), lost_object])
def test_an_incomplete_store_is_not_copied(tmp_path: Path, fault: Callable[[Path], object]) -> None:
    log = filled(tmp_path / "here")
    there = copy_of(log, tmp_path / "there")
    copy_store(tmp_path / "here" / "store.db", tmp_path / "running")
    log.close()
    copy_store(tmp_path / "here" / "store.db", tmp_path / "closed")
    copy_store(there / "store.db", tmp_path / "killed")
    there = shutil.copytree(tmp_path / "here", tmp_path / "again")
    if fault is not lost_object:
        shutil.rmtree(there)
        again = filled(tmp_path / "new")
        there = copy_of(again, there)
        again.close()
    fault(there)
    with pytest.raises(StoreDamaged, match=r"missing|damaged"):
        copy_store(there / "store.db", tmp_path / "never")


@pytest.mark.parametrize("before", [b"3", None])
def test_a_row_that_differs_from_the_written_one_stops_the_writer(
    tmp_path: Path, before: bytes | None
) -> None:
    log = filled(tmp_path)
    with pytest.raises(StoreDamaged, match=r"another program has changed|UNIQUE"):
        log.write([row("a3", b"new", before)], 21)
    log.close()
    Store.open(tmp_path).close()


def test_a_damaged_store_is_refused(tmp_path: Path) -> None:
    log = filled(tmp_path)
    log.close()
    with closing(sqlite3.connect(tmp_path / "store.db")) as db:
        db.execute("UPDATE objects SET document = x'20' WHERE name = 'a3'")
        db.commit()
    with pytest.raises(StoreDamaged, match="default/a3 is damaged"):
        Store.open(tmp_path, accept_loss=True)


def test_the_mark_is_written_between_the_commit_and_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = filled(tmp_path)
    committed: list[int] = []
    write = MarkFile.write

    def noted(self: MarkFile, revision: int, written: float) -> None:
        with closing(sqlite3.connect(tmp_path / "store.db")) as reader:
            (result,) = reader.execute("SELECT value FROM meta WHERE key = 'revision'").fetchone()
        committed.append(int(result))
        write(self, revision, written)

    monkeypatch.setattr(MarkFile, "write", noted)
    log.write([row("new", b"new")], 21)
    assert committed == [21]
    mark = read_mark(tmp_path)
    assert mark is not None
    assert (mark.revision, mark.moment) == (21, EPOCH)
    log.close()


def test_a_write_that_cannot_be_marked_is_not_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = filled(tmp_path)

    def broken(*_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "pwrite", broken)
    with pytest.raises(StoreDamaged, match=r"store.mark cannot be written \(Input/output error\)"):
        log.write([row("new", b"new")], 21)
    log.close()


@pytest.mark.parametrize("torn", [0, 512])
def test_a_torn_slot_leaves_the_other_slot(tmp_path: Path, torn: int) -> None:
    log = filled(tmp_path / "here")
    there = copy_of(log, tmp_path / "there")
    log.close()
    with (there / "store.mark").open("r+b") as file:
        file.seek(torn + 9)
        file.write(struct.pack("<I", 0xFFFFFFFF))
    mark = read_mark(there)
    assert mark is not None
    assert mark.revision in (19, 20)
    Store.open(there).close()


@pytest.mark.parametrize(("flushed", "refused"), [("NORMAL", False), ("FULL", True)])
def test_a_crashed_machine_loses_only_unacknowledged_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flushed: sqlite.Synchronous, refused: bool
) -> None:
    """After a loss of power the log may end earlier than the mark: without power-loss durability
    that is as documented, with it the disk has lost what it had promised to keep."""
    log = SqliteLog(tmp_path / "here", synchronous=flushed)
    list(log.rows())
    log.begin()
    for number in range(1, 10):
        log.write([row(f"a{number}", b"{}")], number)
    there = copy_of(log, tmp_path / "there")
    log.close()
    wal = there / "store.db-wal"
    with wal.open("r+b") as file:
        file.truncate(wal.stat().st_size - FRAME)
    monkeypatch.setattr(sqlite, "boot_id", lambda: "another")
    if refused:
        with pytest.raises(DataLost):
            Store.open(there)
        return
    store = Store.open(there)
    assert store.revision >= 9 + REVISION_JUMP
    store.close()


def test_a_store_killed_during_its_creation_is_created(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for at in _moments():
        here = tmp_path / at
        with monkeypatch.context() as patch:
            _kill_at(patch, at)
            with pytest.raises(KeyboardInterrupt):
                Store.open(here)
        Store.open(here).close()
        Store.open(here).close()


def _moments() -> Iterator[str]:
    yield from ("flush", "prepare", "begin")


def _kill_at(patch: pytest.MonkeyPatch, at: str) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    if at == "prepare":
        patch.setattr(schema, "prepare", killed)
    else:
        patch.setattr(MarkFile if at == "flush" else SqliteLog, at, killed)


def test_the_boot_id_is_never_that_of_a_closed_store() -> None:
    assert boot_number("") != 0
