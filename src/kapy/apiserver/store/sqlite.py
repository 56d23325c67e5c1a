"""The persistence of a store: one SQLite file in WAL mode with one writer.

Tables: `meta` (schema, revision, identity, digest) and `objects` (one row per object: its JSON as
stored, and a checksum). A commit survives `kill -9`; with `synchronous=FULL` also a loss of power.
The mark beside the file proves at the next start that no write is missing.

A failed write leaves nothing behind; if that cannot be verified, the store refuses all further
writes.
"""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Final, Literal

from kapy._aio.clock import Clock, system_clock
from kapy.apiserver.store import schema
from kapy.apiserver.store.errors import DataLost, StoreDamaged, StoreError
from kapy.apiserver.store.lock import boot_id, lock_directory
from kapy.apiserver.store.mark import (
    NAME,
    MarkFile,
    boot_number,
    check_digest,
    check_format,
    check_presence,
    check_revision,
    read_mark,
)
from kapy.apiserver.store.sqlite_errors import UNTRUSTED, error_name, open_error, write_error

_log = logging.getLogger(__name__)

Synchronous = Literal["NORMAL", "FULL"]
Row = tuple[str, str, str, bytes | None, int, int | None]
"""table, namespace, name, JSON (None: delete), its checksum, and the checksum of the row that it
replaces (None: a new row).
"""

REVISION_JUMP: Final = 1_000_000_000
"""The distance that revisions skip when the last ones given out are unknown."""

_ADVANCE = "UPDATE meta SET value = ?, digest = ? WHERE key = 'revision' AND value = ?"

_LEVELS: Final[dict[Synchronous, int]] = {"NORMAL": 1, "FULL": 2}
"""The values of `PRAGMA synchronous`."""

_OPEN_PATIENCE = 5.0
"""Seconds to wait for a lock when the file is opened: a starting backup holds one for a short
time.
"""
_WRITE_PATIENCE = 100
"""Milliseconds to wait for a lock on a write; the server is blocked meanwhile."""

_WAL_LIMIT = 8 * 2**20
"""The size in bytes to which the write-ahead log is truncated after a reader made it grow."""
_LOOK_EVERY = 16
"""Transactions between two checks whether another program wrote to the file or replaced it. The
presence of the write-ahead log is checked at each transaction.
"""
_TIDY_EVERY = 512
"""Transactions between two attempts to return free pages to the file system."""
_TIDY_PAGES = 256
"""The number of free pages to return at a time, and also the number that may always stay."""


class SqliteLog:
    """The file `store.db` in a data directory that this process has locked.

    accept_loss: open the file even if acknowledged writes are missing (but not if its data is
    damaged). The object may be called from any thread, but not concurrently.
    """

    def __init__(
        self,
        directory: Path,
        *,
        synchronous: Synchronous = "NORMAL",
        clock: Clock = system_clock,
        accept_loss: bool = False,
    ) -> None:
        self.synchronous = synchronous
        self._directory = directory
        self._path = directory / "store.db"
        self._names = (str(self._path), f"{self._path}-wal", str(directory / NAME))
        self._clock = clock
        self._accepts_loss = accept_loss
        self._lost = False
        self._one_at_a_time = Lock()
        self._transactions = 0
        self._files: tuple[int, ...] = ()
        self._version = 0
        self._revision = 0
        self._digest = 0
        self._next_digest = 0
        self._lock = lock_directory(directory)
        try:
            self.mark = read_mark(directory)
            self._db = self._open()
        except BaseException:
            os.close(self._lock)
            raise
        self._marks: MarkFile | None = None

    def _open(self) -> sqlite3.Connection:
        with self._allow_loss():
            check_presence(self._path, self.mark)
        try:
            # SQLite creates the files beside it (WAL and shared memory) with the same mode.
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
            db = sqlite3.connect(
                self._path, isolation_level=None, check_same_thread=False, timeout=_OPEN_PATIENCE
            )
            try:
                db.execute("PRAGMA journal_mode = WAL")
                self._set_synchronous(db)
                db.execute(f"PRAGMA journal_size_limit = {_WAL_LIMIT}")
                self._prepare(db)
                db.execute(f"PRAGMA busy_timeout = {_WRITE_PATIENCE}")
            except BaseException:
                db.close()
                raise
        except (sqlite3.Error, OSError) as error:
            raise open_error(self._path, error) from error
        return db

    def _set_synchronous(self, db: sqlite3.Connection) -> None:
        """Set the durability of commits and verify that SQLite accepted it. Raises StoreError."""
        db.execute(f"PRAGMA synchronous = {self.synchronous}")
        if self.synchronous == "FULL":  # also flush the disk's own cache (macOS)
            db.execute("PRAGMA fullfsync = ON")
            db.execute("PRAGMA checkpoint_fullfsync = ON")
        (level,) = db.execute("PRAGMA synchronous").fetchone()
        (mode,) = db.execute("PRAGMA journal_mode").fetchone()
        if (level, mode) != (_LEVELS[self.synchronous], "wal"):
            raise StoreError(
                f"{self._path} cannot be written as durably as asked: SQLite uses journal mode "
                f"{mode} and synchronous level {level}; use a data directory on a local file system"
            )

    def _prepare(self, db: sqlite3.Connection) -> None:
        """Create or migrate the tables, after writing a mark that requires no revision."""
        has_tables = schema.has_tables(db)
        if has_tables and schema.schema_of(db, self._path) == schema.SCHEMA:
            return
        with self._allow_loss():
            check_format(self._path, self.mark)
        marks = self._open_marks()
        marks.begin(0, self._now(), bytes(16))
        marks.flush()
        marks.close()
        if not self._lost:
            self.mark = read_mark(self._directory)
        schema.prepare(db, self._path)

    @contextmanager
    def _allow_loss(self) -> Iterator[None]:
        """Accept a loss of data in this block if the user allowed it. Raises DataLost if not."""
        try:
            yield
        except DataLost as lost:
            if not self._accepts_loss:
                raise
            if not self._lost:
                _log.warning("%s. The loss was accepted", str(lost).partition(". ")[0])
            self._lost = True

    def _open_marks(self) -> MarkFile:
        """Open the mark file. Raises StoreError."""
        try:
            return MarkFile(
                self._directory,
                boot=boot_number(boot_id()),
                flushed=self.synchronous == "FULL",
            )
        except OSError as error:
            raise open_error(self._directory / NAME, error) from error

    def _now(self) -> float:
        return self._clock().timestamp()

    def rows(self) -> Generator[tuple[str, str, str, bytes, int], None, None]:
        """Yield all rows with their checksums, each verified, and at the end verify their digest.

        The caller closes the generator. Raises StoreDamaged.
        """
        digest = 0
        try:
            problem = schema.check_pages(self._db)
            if problem:
                raise self._damage_error(problem)
            for row in schema.read_verified(self._db):
                digest += row[-1]
                yield row
            stored = int(schema.stored_digest(self._db))
        except sqlite3.Error as error:
            raise open_error(self._path, error) from error
        except ValueError as error:
            raise self._damage_error(str(error)) from error
        self._digest = digest
        with self._allow_loss():
            check_digest(self._path, digest, stored)

    def begin(self) -> int:
        """Prepare for writes after `rows` was read; return the revision to continue from.

        After a machine crash or an accepted loss, revisions may have been given out whose writes
        are lost. They are skipped, so that none is given out twice. Raises StoreDamaged.
        """
        try:
            return self._begin()
        except (sqlite3.Error, OSError) as error:
            raise open_error(self._path, error) from error
        except ValueError as error:
            raise self._damage_error(str(error)) from error

    def _begin(self) -> int:
        revision = int(schema.get_meta(self._db, "revision", "0"))
        store = bytes.fromhex(schema.get_meta(self._db, "store", ""))
        before, now = schema.get_meta(self._db, "boot", ""), boot_id()
        mark, boot = self.mark, boot_number(now)
        last = revision
        with self._allow_loss():
            last = check_revision(self._path, mark, store, revision, boot)
        if mark is not None:
            last = max(last, mark.revision)
        if self._lost or last > revision or (before and before != now):
            last += REVISION_JUMP
        self._record_start(last, before, now)
        self._marks = self._open_marks()
        self._marks.begin(last, self._now(), store)
        self._revision = last
        self._version = self._data_version()
        self._files = self._identity()
        return last

    def _record_start(self, revision: int, before: str, now: str) -> None:
        db = self._db
        db.execute("BEGIN IMMEDIATE")
        if self.synchronous == "NORMAL":
            schema.put_meta(db, "boot", now)
        elif before:
            db.execute("DELETE FROM meta WHERE key = 'boot'")
        schema.put_revision(db, revision, self._digest)
        db.execute("COMMIT")

    def _damage_error(self, what: str) -> StoreDamaged:
        return StoreDamaged(
            f"{self._path} is damaged ({what}); restore a backup (`kapy restore`) or use another "
            "data directory"
        )

    def write(self, rows: Sequence[Row], revision: int) -> None:
        """Commit all rows and the revision in one transaction.

        Raises StoreError if nothing was written, StoreDamaged if no further writes are possible.
        """
        with self._one_at_a_time:
            self._check_files()
            try:
                self._commit(rows, revision)
            except sqlite3.Error as error:
                if not self._roll_back(revision, error):
                    raise write_error(self._path, error) from error
            self._revision, self._digest = revision, self._next_digest
            self._write_mark(revision)

    def _write_mark(self, revision: int) -> None:
        """Record the commit in the mark. Raises StoreDamaged: without the mark no write may be
        acknowledged.
        """
        assert self._marks is not None
        try:
            self._marks.write(revision, self._now())
        except OSError as error:
            raise StoreDamaged(
                f"{self._names[2]} cannot be written ({error.strerror}); nothing is written any "
                "more, reads go on. See that the disk is not full or broken, and restart the plane"
            ) from error

    def _commit(self, rows: Sequence[Row], revision: int) -> None:
        db, digest, changed = self._db, self._digest, 0
        db.execute("BEGIN IMMEDIATE")
        for *key, document, proof, before in rows:
            if before is None:
                changed += db.execute(schema.INSERT, (*key, document, proof)).rowcount
                digest += proof
            elif document is None:
                changed += db.execute(schema.DELETE, (*key, before)).rowcount
                digest -= before
            else:
                changed += db.execute(schema.UPDATE, (document, proof, *key, before)).rowcount
                digest += proof - before
        self._next_digest = digest
        new = str(revision), str(digest)
        changed += db.execute(_ADVANCE, (*new, str(self._revision))).rowcount
        if changed != len(rows) + 1 or self._is_foreign():
            db.execute("ROLLBACK")
            raise StoreDamaged(
                f"another program has changed {self._path}: what this server knows is not what is "
                "stored; nothing is written any more. Restart the plane to go on with what is "
                "stored, or restore a backup"
            )
        db.execute("COMMIT")
        self._transactions += 1
        if self._transactions % _TIDY_EVERY == 0:
            self._vacuum()

    def _is_foreign(self) -> bool:
        """Report whether another program has written to the file; checked every `_LOOK_EVERY`
        writes.
        """
        if self._transactions % _LOOK_EVERY:
            return False
        return self._data_version() != self._version

    def _vacuum(self) -> None:
        """Return some free pages to the file system if they are over a quarter of the file."""
        (free,) = self._db.execute("PRAGMA freelist_count").fetchone()
        (pages,) = self._db.execute("PRAGMA page_count").fetchone()
        if free > max(_TIDY_PAGES, pages // 4):
            # `execute` would run only the first step, which frees one page.
            self._db.executescript(f"PRAGMA incremental_vacuum({_TIDY_PAGES})")

    def _data_version(self) -> int:
        """Return a number that changes when another connection writes to the file."""
        return int(self._db.execute("PRAGMA data_version").fetchone()[0])

    def _identity(self) -> tuple[int, ...]:
        file, log, mark = map(os.stat, self._names)
        return file.st_dev, file.st_ino, log.st_dev, log.st_ino, mark.st_dev, mark.st_ino

    def _check_files(self) -> None:
        """Check that the open files are still those in the directory. Raises StoreDamaged.

        Writes to a removed file would be lost when the process ends.
        """
        everything = self._transactions % _LOOK_EVERY == 0
        try:
            same = os.stat(self._names[1]).st_ino == self._files[3]
            same = same and (not everything or self._identity() == self._files)
        except OSError:
            same = False
        if not same:
            raise StoreDamaged(
                f"{self._path}, {self._path.name}-wal or {NAME} beside it was removed or replaced "
                "while the server ran; nothing is written any more, reads go on. Save what you "
                "need (`kubectl get -o yaml`), stop the plane and restore a backup"
            )

    def _roll_back(self, revision: int, error: sqlite3.Error) -> bool:
        """Roll back a failed write; return whether it was committed in spite of the error.

        Raises StoreDamaged if that is unknown.
        """
        try:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            stored = int(schema.get_meta(self._db, "revision", "0"))
        except (sqlite3.Error, ValueError) as second:
            raise self._damage_error(f"{error}; then {second}") from error
        if error_name(error) in UNTRUSTED or stored not in (self._revision, revision):
            raise self._damage_error(str(error)) from error
        return stored == revision and revision != self._revision

    def put_meta(self, key: str, value: str) -> None:
        """Store a value in the table `meta`. Raises StoreError."""
        with self._one_at_a_time:
            try:
                schema.put_meta(self._db, f"note/{key}", value)
            except sqlite3.Error as error:
                raise write_error(self._path, error) from error

    def get_meta(self, key: str) -> str:
        """Return a value stored by `put_meta`, "" if there is none. Raises StoreError."""
        with self._one_at_a_time:
            try:
                return schema.get_meta(self._db, f"note/{key}", "")
            except sqlite3.Error as error:
                raise write_error(self._path, error) from error

    def close(self) -> None:
        """Close the file and release the lock of the directory."""
        with self._one_at_a_time:
            marks, self._marks = self._marks, None
            whole = marks is not None
            try:
                if whole:
                    self._check_files()
                    self._db.execute("DELETE FROM meta WHERE key = 'boot'")
            except (sqlite3.Error, StoreError):
                whole = False  # the next start then treats the store as after a crash
            self._db.close()
            if marks is not None:
                if whole:
                    marks.end(self._revision, self._now())
                else:
                    marks.close()
            os.close(self._lock)
