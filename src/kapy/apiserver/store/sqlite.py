"""The durable side of a store: one SQLite file in WAL mode, one writer.

Tables: `meta` (schema, revision) and `objects` (one row per object: its JSON as stored, and a
checksum). What is committed here survives `kill -9`; with `synchronous=FULL` also a loss of power.

A write that fails has left nothing behind; when that cannot be told, nothing more is written.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Final, Literal

from kapy.apiserver.store import schema
from kapy.apiserver.store.errors import StoreDamaged, StoreError, StoreInUse

Synchronous = Literal["NORMAL", "FULL"]
Row = tuple[str, str, str, bytes | None]
"""table, namespace, name, JSON (None: the object is gone)."""

REVISION_JUMP: Final = 1_000_000_000
"""How far revisions go ahead where it is unknown which ones were given out before."""

_DROP = "DELETE FROM objects WHERE resource = ? AND namespace = ? AND name = ?"
_ADVANCE = "UPDATE meta SET value = ? WHERE key = 'revision' AND value = ?"

_OPEN_PATIENCE = 5.0
"""Seconds to wait for a lock when the file is opened: a backup that begins holds one shortly."""
_WRITE_PATIENCE = 100
"""Milliseconds to wait for a lock when something is written: meanwhile the server stands still."""

_WAL_LIMIT = 8 * 2**20
"""Bytes to which the write-ahead log is cut after a reader made it grow."""
_LOOK_EVERY = 16
"""Transactions after which it is looked whether another program wrote to the file or replaced it
(whether the write-ahead log is still there, with what was acknowledged last: each time)."""
_TIDY_EVERY = 512
"""Transactions after which free pages may be given back to the file system."""
_TIDY_PAGES = 256
"""Free pages that are given back at a time, and that may always stay."""


class SqliteLog:
    """The file `store.db` in a data directory that nobody else uses meanwhile.

    It may be called from any thread, by one at a time.
    """

    def __init__(self, directory: Path, *, synchronous: Synchronous = "NORMAL") -> None:
        self.synchronous = synchronous
        self._path = directory / "store.db"
        self._names = (str(self._path), f"{self._path}-wal")
        self._one_at_a_time = Lock()
        self._transactions = 0
        self._lock = _locked(directory)
        try:
            self._db = self._opened()
        except BaseException:
            os.close(self._lock)
            raise
        self._files = (0, 0, 0, 0)
        self._version = 0
        self._revision = 0

    def _opened(self) -> sqlite3.Connection:
        try:
            # SQLite gives the files beside it (WAL and shared memory) the same mode.
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
            db = sqlite3.connect(
                self._path, isolation_level=None, check_same_thread=False, timeout=_OPEN_PATIENCE
            )
            try:
                db.execute("PRAGMA journal_mode = WAL")
                db.execute(f"PRAGMA synchronous = {self.synchronous}")
                db.execute(f"PRAGMA journal_size_limit = {_WAL_LIMIT}")
                schema.prepare(db, self._path)
                db.execute(f"PRAGMA busy_timeout = {_WRITE_PATIENCE}")
            except BaseException:
                db.close()
                raise
        except (sqlite3.Error, OSError) as error:
            raise _not_opened(self._path, error) from error
        return db

    def load(self) -> tuple[int, Generator[schema.Found, None, None]]:
        """The last revision, and all rows (close the generator)."""
        try:
            revision = int(schema.meta(self._db, "revision", "0"))
            problem = schema.check(self._db)
            if problem:
                raise self._damaged(problem)
            revision = self._begin(revision)
        except (sqlite3.Error, ValueError) as error:
            raise self._damaged(str(error)) from error
        return revision, self._rows()

    def _begin(self, revision: int) -> int:
        """Remember what the file is like now; answers the revision to go on from.

        Where the machine ended in the middle and not only a process, the last revisions that were
        given out may be lost with their writes: they are never given out again.
        """
        before, now = schema.meta(self._db, "boot", ""), _boot()
        if before and before != now:
            revision += REVISION_JUMP
        if self.synchronous == "NORMAL":
            schema.put_meta(self._db, "boot", now)
        elif before:
            self._db.execute("DELETE FROM meta WHERE key = 'boot'")
        schema.put_meta(self._db, "revision", str(revision))
        self._revision = revision
        self._version = self._data_version()
        self._files = self._identity()
        return revision

    def _rows(self) -> Generator[schema.Found, None, None]:
        try:
            yield from schema.objects_of(self._db)
        except sqlite3.Error as error:
            raise self._damaged(str(error)) from error

    def _damaged(self, what: str) -> StoreDamaged:
        return StoreDamaged(
            f"{self._path} is damaged ({what}); restore a backup (`kapy restore`) or use another "
            "data directory"
        )

    def write(self, rows: Sequence[Row], revision: int) -> None:
        """Commit all rows and the revision in one transaction, or nothing.

        Raises StoreError when nothing was written, StoreDamaged when nothing must be any more.
        """
        with self._one_at_a_time:
            self._check_files()
            try:
                self._commit(rows, revision)
            except sqlite3.Error as error:
                if not self._has_written(revision, error):
                    raise self._failed(error) from error
            self._revision = revision

    def _commit(self, rows: Sequence[Row], revision: int) -> None:
        db = self._db
        db.execute("BEGIN IMMEDIATE")
        for table, namespace, name, document in rows:
            if document is None:
                db.execute(_DROP, (table, namespace, name))
            else:
                proof = schema.checksum(table, namespace, name, document)
                db.execute(schema.PUT, (table, namespace, name, document, proof))
        moved = db.execute(_ADVANCE, (str(revision), str(self._revision))).rowcount
        if moved != 1 or self._is_foreign():
            db.execute("ROLLBACK")
            raise StoreDamaged(
                f"another program has changed {self._path}: what this server knows is not what is "
                "stored; nothing is written any more. Restart the plane to go on with what is "
                "stored, or restore a backup"
            )
        db.execute("COMMIT")
        self._transactions += 1
        if self._transactions % _TIDY_EVERY == 0:
            self._tidy()

    def _is_foreign(self) -> bool:
        """Whether somebody else has written to the file, as far as that is looked at."""
        if self._transactions % _LOOK_EVERY:
            return False
        return self._data_version() != self._version

    def _tidy(self) -> None:
        """Give back some free pages where they are more than a quarter of the file."""
        (free,) = self._db.execute("PRAGMA freelist_count").fetchone()
        (pages,) = self._db.execute("PRAGMA page_count").fetchone()
        if free > max(_TIDY_PAGES, pages // 4):
            # As a script: `execute` takes the first of its steps only, which is one page.
            self._db.executescript(f"PRAGMA incremental_vacuum({_TIDY_PAGES})")

    def _data_version(self) -> int:
        """A number that changes when somebody else writes to the file."""
        return int(self._db.execute("PRAGMA data_version").fetchone()[0])

    def _identity(self) -> tuple[int, int, int, int]:
        file, log = map(os.stat, self._names)
        return file.st_dev, file.st_ino, log.st_dev, log.st_ino

    def _check_files(self) -> None:
        """Whether the open files are still the ones in the directory. Raises StoreDamaged.

        What is written to a file that was removed is gone when the process ends.
        """
        everything = self._transactions % _LOOK_EVERY == 0
        try:
            same = os.stat(self._names[1]).st_ino == self._files[3]
            same = same and (not everything or self._identity() == self._files)
        except OSError:
            same = False
        if not same:
            raise StoreDamaged(
                f"{self._path} or {self._path.name}-wal beside it was removed or replaced while "
                "the server ran; nothing is written any more, reads go on. Save what you need "
                "(`kubectl get -o yaml`), stop the plane and restore a backup"
            )

    def _has_written(self, revision: int, error: sqlite3.Error) -> bool:
        """Take back what failed; answers whether it was written in spite of the error.

        Raises StoreDamaged when that cannot be told.
        """
        try:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            stored = int(schema.meta(self._db, "revision", "0"))
        except (sqlite3.Error, ValueError) as second:
            raise self._damaged(f"{error}; then {second}") from error
        if _name_of(error) in _UNTRUSTED or stored not in (self._revision, revision):
            raise self._damaged(str(error)) from error
        return stored == revision and revision != self._revision

    def _failed(self, error: sqlite3.Error) -> StoreError:
        name = _name_of(error)
        for prefix, advice in _ADVICE:
            if name.startswith(prefix):
                return StoreError(f"writing to {self._path} failed: {error}; {advice}")
        return StoreError(f"writing to {self._path} failed: {error}; reads go on")

    def close(self) -> None:
        """Close the file and let others have the directory."""
        with self._one_at_a_time:
            try:
                self._check_files()
                self._db.execute("DELETE FROM meta WHERE key = 'boot'")
            except (sqlite3.Error, StoreError):
                pass  # it is then opened as after a crash
            self._db.close()
            os.close(self._lock)


_UNTRUSTED = frozenset({"SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_IOERR_FSYNC"})
"""Errors after which the file may hold something else than what was written to it."""

_ADVICE: Final = (
    ("SQLITE_FULL", "free some space: writes go on by themselves then, reads go on meanwhile"),
    (
        "SQLITE_IOERR",
        "see whether the disk is full or broken: writes go on by themselves when it takes them "
        "again, reads go on meanwhile",
    ),
    (
        "SQLITE_READONLY",
        "make the file and its file system writable: writes go on by themselves then, reads go on "
        "meanwhile",
    ),
    (
        "SQLITE_BUSY",
        "another program holds a lock on it: close that one; writes go on by themselves then, "
        "reads go on meanwhile",
    ),
)


def _name_of(error: BaseException) -> str:
    return str(getattr(error, "sqlite_errorname", ""))


def _not_opened(path: Path, error: sqlite3.Error | OSError) -> StoreError:
    name = _name_of(error)
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN")) or isinstance(error, OSError):
        why = error.strerror if isinstance(error, OSError) else error
        return StoreError(
            f"{path} cannot be written to ({why}); make it and its directory writable, or use "
            "another data directory"
        )
    if name.startswith("SQLITE_BUSY"):
        return StoreInUse(f"{path} is locked by another program; close that one")
    if name.startswith("SQLITE_FULL"):
        return StoreError(f"{path} cannot be opened: the disk is full; free some space")
    return StoreDamaged(
        f"{path} cannot be read ({error}); restore a backup (`kapy restore`) or use another "
        "directory"
    )


def _boot() -> str:
    """What tells one run of the machine from the next, the same always where nothing does."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return "unknown"


@contextmanager
def held(directory: Path) -> Iterator[None]:
    """Keep a data directory from being used by anybody else. Raises StoreInUse, StoreError."""
    handle = _locked(directory)
    try:
        yield
    finally:
        os.close(handle)


def _locked(directory: Path) -> int:
    """The open lock file of a directory, which is made if it is not there."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreError(
            f"the data directory {directory} cannot be used: {error.strerror}"
        ) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        raise StoreInUse(
            f"the data directory {directory} is in use by another process; "
            "stop that one, or choose another directory"
        ) from error
    return handle
