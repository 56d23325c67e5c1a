"""The durable side of a store: one SQLite file in WAL mode, one writer.

Tables: `meta` (schema, revision) and `objects` (one row per object: its JSON as stored). What is
committed here survives `kill -9`; with `synchronous=FULL` also a loss of power.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Literal

from kapy.apiserver.store.errors import StoreError, StoreInUse, StoreTooNew

SCHEMA = 1
"""The version of the tables below. A file of an older one is migrated when it is opened."""

Synchronous = Literal["NORMAL", "FULL"]
Row = tuple[str, str, str, bytes | None]
"""table, namespace, name, JSON (None: the object is gone)."""

_CREATE = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE objects (
    resource TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, document BLOB NOT NULL,
    PRIMARY KEY (resource, namespace, name)
) WITHOUT ROWID;
"""
_MIGRATIONS: dict[int, str] = {}
"""SQL that turns schema N into N + 1, by N."""

_PUT = "INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?)"
_DROP = "DELETE FROM objects WHERE resource = ? AND namespace = ? AND name = ?"
_REVISION = "INSERT OR REPLACE INTO meta VALUES ('revision', ?)"


class SqliteLog:
    """The file `store.db` in a data directory that nobody else uses meanwhile."""

    def __init__(self, directory: Path, *, synchronous: Synchronous = "NORMAL") -> None:
        self.synchronous = synchronous
        self._path = directory / "store.db"
        self._lock = _locked(directory)
        try:
            self._db = self._opened()
        except BaseException:
            os.close(self._lock)
            raise

    def _opened(self) -> sqlite3.Connection:
        try:
            # SQLite gives the files beside it (WAL and shared memory) the same mode.
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
            db = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
            try:
                db.execute("PRAGMA journal_mode = WAL")
                db.execute(f"PRAGMA synchronous = {self.synchronous}")
                self._prepare(db)
            except BaseException:
                db.close()
                raise
        except (sqlite3.Error, OSError) as error:
            raise StoreError(
                f"{self._path} cannot be read ({error}); restore a backup or use another directory"
            ) from error
        return db

    def _prepare(self, db: sqlite3.Connection) -> None:
        names = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
        if "meta" not in names:
            db.executescript(f"BEGIN; {_CREATE} COMMIT;")
            db.execute("INSERT INTO meta VALUES ('schema', ?)", (str(SCHEMA),))
            return
        found = int(_meta(db, "schema", "0"))
        if found > SCHEMA:
            raise StoreTooNew(
                f"{self._path} was written by a later version of kapy (schema {found}, this one "
                f"knows {SCHEMA}); upgrade kapy or use another data directory"
            )
        for version in range(found, SCHEMA):
            step = _MIGRATIONS.get(version)
            if step is None:
                raise StoreError(
                    f"{self._path} has schema {version}, which cannot be migrated; "
                    "use another data directory"
                )
            mark = f"UPDATE meta SET value = '{version + 1}' WHERE key = 'schema'"
            db.executescript(f"BEGIN; {step}; {mark}; COMMIT;")

    def load(self) -> tuple[int, Generator[tuple[str, str, str, bytes], None, None]]:
        """The last revision, and all rows (close the generator)."""
        try:
            revision = int(_meta(self._db, "revision", "0"))
            problems = self._db.execute("PRAGMA quick_check(1)").fetchone()[0]
        except (sqlite3.Error, ValueError) as error:
            raise self._damaged(str(error)) from error
        if problems != "ok":
            raise self._damaged(problems)
        return revision, self._rows()

    def _rows(self) -> Generator[tuple[str, str, str, bytes], None, None]:
        try:
            yield from self._db.execute("SELECT resource, namespace, name, document FROM objects")
        except sqlite3.Error as error:
            raise self._damaged(str(error)) from error

    def _damaged(self, what: str) -> StoreError:
        return StoreError(f"{self._path} is damaged ({what}); restore a backup of the directory")

    def write(self, rows: Sequence[Row], revision: int) -> None:
        """Commit all rows and the revision in one transaction, or nothing. Raises StoreError."""
        db = self._db
        try:
            db.execute("BEGIN IMMEDIATE")
            for table, namespace, name, document in rows:
                if document is None:
                    db.execute(_DROP, (table, namespace, name))
                else:
                    db.execute(_PUT, (table, namespace, name, document))
            db.execute(_REVISION, (str(revision),))
            db.execute("COMMIT")
        except sqlite3.Error as error:
            self._roll_back()
            raise StoreError(f"writing to {self._path} failed: {error}") from error

    def _roll_back(self) -> None:
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def close(self) -> None:
        """Close the file and let others have the directory."""
        self._db.close()
        os.close(self._lock)


def _meta(db: sqlite3.Connection, key: str, default: str) -> str:
    row = db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return default if row is None else str(row[0])


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
