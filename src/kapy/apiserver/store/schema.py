"""The tables of a store's file, their migrations, and the checksum of each row.

Every released format of the data directory has a number here; `tests/data/store` keeps a directory
of each.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from secrets import token_hex
from typing import Final
from zlib import crc32

import msgspec

from kapy.apiserver.store.errors import StoreDamaged, StoreError, StoreTooNew
from kapy.kube.digits import parse_digits

SCHEMA: Final = 3
"""The version of the tables below.

1: the first version. 2: adds a checksum to each object, and free pages can be returned. 3: adds a
digest of all objects, an identity, and the mark beside the file.
"""

Found = tuple[str, str, str, bytes]
"""resource, namespace, name, JSON."""

_META = "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"
_OBJECTS = """
CREATE TABLE objects (
    resource TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, document BLOB NOT NULL,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (resource, namespace, name)
) WITHOUT ROWID
"""
INSERT: Final = "INSERT INTO objects VALUES (?, ?, ?, ?, ?)"
"""Inserts a row for a new object; fails if the row exists."""
UPDATE: Final = (
    "UPDATE objects SET document = ?, checksum = ? "
    "WHERE resource = ? AND namespace = ? AND name = ? AND checksum = ?"
)
DELETE: Final = (
    "DELETE FROM objects WHERE resource = ? AND namespace = ? AND name = ? AND checksum = ?"
)
"""UPDATE and DELETE change a row only if its checksum is the one that the writer knows."""
PUT: Final = (
    f"{INSERT} ON CONFLICT (resource, namespace, name) "
    "DO UPDATE SET document = excluded.document, checksum = excluded.checksum"
)
"""Inserts or updates a row. (INSERT OR REPLACE deletes and inserts, which takes 50 % longer.)"""
_SELECT = "SELECT resource, namespace, name, document, checksum FROM objects"


def checksum(resource: str, namespace: str, name: str, document: bytes) -> int:
    """Return the checksum that proves the integrity of a row."""
    return crc32(document, crc32(f"{resource}/{namespace}/{name}".encode()))


def digest_of(db: sqlite3.Connection) -> int:
    """Return the digest of all objects: the sum of their checksums. Raises StoreDamaged."""
    return sum(row[-1] for row in read_verified(db))


def stored_digest(db: sqlite3.Connection) -> str:
    """Return the digest that was stored with the last revision, "" if there is none."""
    row = db.execute("SELECT digest FROM meta WHERE key = 'revision'").fetchone()
    return "" if row is None else str(row[0])


def put_revision(db: sqlite3.Connection, revision: int, digest: int) -> None:
    """Store the last revision and the digest of all objects at that revision."""
    put_meta(db, "revision", str(revision))
    db.execute("UPDATE meta SET digest = ? WHERE key = 'revision'", (str(digest),))


def prepare(db: sqlite3.Connection, path: Path) -> None:
    """Create the tables, or migrate those of an earlier version.

    Before a migration the file is copied to `store.db.schema-N` beside it. Raises StoreTooNew,
    StoreError.
    """
    if not has_tables(db):
        db.execute("PRAGMA auto_vacuum = INCREMENTAL")
        db.execute("VACUUM")  # applies auto_vacuum to a file that already has a page
        db.execute("BEGIN IMMEDIATE")
        db.execute(_META)
        db.execute(_OBJECTS)
        put_meta(db, "schema", str(SCHEMA))
        _add_identity(db)
        db.execute("COMMIT")
        return
    schema = schema_of(db, path)
    if schema < SCHEMA:
        _copy_file(db, path.with_name(f"{path.name}.schema-{schema}"))
        _migrate(db, schema)
    if db.execute("PRAGMA auto_vacuum").fetchone()[0] == 0:
        db.execute("PRAGMA auto_vacuum = INCREMENTAL")
        db.execute("VACUUM")


def has_tables(db: sqlite3.Connection) -> bool:
    """Report whether `prepare` of any version has created the tables."""
    return bool(db.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchall())


def schema_of(db: sqlite3.Connection, path: Path) -> int:
    """Return the schema version of a file. Raises if this program cannot read or migrate it."""
    text = get_meta(db, "schema", "0")
    result = parse_digits(text) or 0
    if result > SCHEMA:
        raise StoreTooNew(
            f"{path} was written by a later version of kapy (schema {result}, this one "
            f"knows {SCHEMA}); upgrade kapy or use another data directory"
        )
    if any(step not in MIGRATIONS for step in range(result, SCHEMA)):
        raise StoreError(
            f"{path} has schema {text}, which this version of kapy (schema {SCHEMA}) cannot "
            "migrate; use another data directory"
        )
    return result


def _copy_file(db: sqlite3.Connection, path: Path) -> None:
    """Copy the file atomically to `path`."""
    beside = path.with_name(f"{path.name}.new")
    beside.unlink(missing_ok=True)
    os.close(os.open(beside, os.O_RDWR | os.O_CREAT, 0o600))
    with closing(sqlite3.connect(beside)) as copy:
        db.backup(copy)
    beside.replace(path)


def _migrate(db: sqlite3.Connection, value: int) -> None:
    db.execute("BEGIN IMMEDIATE")
    try:
        for version in range(value, SCHEMA):
            MIGRATIONS[version](db)
            put_meta(db, "schema", str(version + 1))
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _add_checksums(db: sqlite3.Connection) -> None:
    """Migrate schema 1 to 2. Rows that are not valid JSON are reported as damaged."""
    db.execute("ALTER TABLE objects RENAME TO objects_1")
    db.execute(_OBJECTS)
    rows: Iterator[Found] = db.execute("SELECT resource, namespace, name, document FROM objects_1")
    for resource, namespace, name, document in rows:
        try:
            msgspec.json.decode(document)
        except msgspec.MsgspecError as error:
            raise damaged_object(resource, namespace, name, str(error)) from error
        proof = checksum(resource, namespace, name, document)
        db.execute(PUT, (resource, namespace, name, document, proof))
    db.execute("DROP TABLE objects_1")


def _add_identity(db: sqlite3.Connection) -> None:
    """Migrate schema 2 to 3."""
    db.execute("ALTER TABLE meta ADD COLUMN digest TEXT NOT NULL DEFAULT ''")
    put_meta(db, "store", token_hex(16))
    put_revision(db, int(get_meta(db, "revision", "0")), digest_of(db))


MIGRATIONS: Final[dict[int, Callable[[sqlite3.Connection], None]]] = {
    1: _add_checksums,
    2: _add_identity,
}
"""The migrations from schema N to N + 1, by N. All that a file needs run in one transaction."""


def read_objects(db: sqlite3.Connection) -> Iterator[Found]:
    """Yield all rows, each verified by its checksum. Raises StoreDamaged."""
    for resource, namespace, name, document, _ in read_verified(db):
        yield resource, namespace, name, document


def read_verified(db: sqlite3.Connection) -> Iterator[tuple[str, str, str, bytes, int]]:
    """Yield all rows with their checksums, each verified. Raises StoreDamaged."""
    for row in db.execute(_SELECT):
        resource, namespace, name, document, proof = row
        if not isinstance(document, bytes) or proof != checksum(
            resource, namespace, name, document
        ):
            raise damaged_object(resource, namespace, name, "its checksum is wrong")
        yield row


def damaged_object(resource: str, namespace: str, name: str, why: str) -> StoreDamaged:
    """Return the error for one object whose stored data is damaged."""
    key = f"{namespace}/{name}" if namespace else name
    return StoreDamaged(
        f"the stored object {resource} {key} is damaged ({why}); restore a backup "
        "(`kapy restore`) or use another data directory"
    )


def check_pages(db: sqlite3.Connection) -> str:
    """Check the pages of a file; return the problem, "" if there is none."""
    result = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    return "" if result == "ok" else str(result)


def get_meta(db: sqlite3.Connection, key: str, default: str) -> str:
    """Return the value of a key in the table `meta`."""
    row = db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return default if row is None else str(row[0])


def put_meta(db: sqlite3.Connection, key: str, value: str) -> None:
    """Set the value of a key in the table `meta`."""
    db.execute(
        "INSERT INTO meta (key, value) VALUES (?, ?) "
        "ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        (key, value),
    )
