"""Copies of a store's file: backup while a server writes to it, and preparation for a restore.

This needs no running server: SQLite lets a second process read a consistent state.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

import msgspec

from kapy._aio.clock import system_clock
from kapy.apiserver.store import schema
from kapy.apiserver.store.errors import StoreDamaged, StoreError
from kapy.apiserver.store.lock import boot_id
from kapy.apiserver.store.mark import MarkFile, boot_number, check_format, check_revision, read_mark
from kapy.apiserver.store.sqlite import REVISION_JUMP

_PATIENCE = 5.0
"""Seconds to wait for a lock: a server holds one for a short time while it starts."""


@dataclass(frozen=True, slots=True)
class FileState:
    """The content of a store's file. revision: the last revision that was given out."""

    schema: int
    revision: int
    objects: int


def copy_store(source: Path, target: Path) -> FileState:
    """Copy a consistent snapshot of the file to `target` (mode 0600) and verify the copy.

    Raises StoreError, StoreDamaged, and DataLost if acknowledged writes are missing.
    """
    mark = read_mark(source.parent)  # read the mark before the copy: a server may write meanwhile
    os.close(os.open(target, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    with _open(source) as there, _open(target) as here:
        there.backup(here)
        here.execute("PRAGMA journal_mode = DELETE")
        if not schema.has_tables(here):
            check_format(source, mark)
        file_state = _verify(here, source)
        if file_state.schema == schema.SCHEMA:
            identity = bytes.fromhex(schema.get_meta(here, "store", ""))
            boot = boot_number(boot_id())
            check_revision(source, mark, identity, file_state.revision, boot)
        return file_state


def verify_store(path: Path) -> FileState:
    """Verify a file and return its content. Raises StoreError, StoreDamaged."""
    with _open(path) as db:
        return _verify(db, path)


def renumber_store(path: Path, above: int) -> FileState:
    """Prepare a copied file so that a server can start from it, whatever was served since the copy.

    Migrates the file to the current format. Renumbers all revisions, in their order, above `above`
    and above every revision that may have been given out after the copy. So no client mistakes a
    restored object for one that it knows from a later state. Raises StoreError, StoreDamaged.
    """
    with _open(path) as db:
        schema.prepare(db, path)
        file_state = _verify(db, path)
        revision = max(file_state.revision, above) + REVISION_JUMP
        db.execute("BEGIN IMMEDIATE")
        for _, key in sorted(_keys_by_revision(db), key=itemgetter(0)):
            revision += 1
            _renumber(db, key, revision)
        schema.put_revision(db, revision, schema.digest_of(db))
        db.execute("DELETE FROM meta WHERE key = 'boot'")
        db.execute("COMMIT")
        _mark(db, path, revision)
    return FileState(schema.SCHEMA, revision, file_state.objects)


def _mark(db: sqlite3.Connection, path: Path, revision: int) -> None:
    """Write a mark beside a file, like the one that a clean shutdown leaves."""
    identity = bytes.fromhex(schema.get_meta(db, "store", ""))
    marks = MarkFile(path.parent, boot=0, flushed=True)
    try:
        marks.begin(revision, system_clock().timestamp(), identity)
        marks.flush()
    finally:
        marks.close()


class _Metadata(msgspec.Struct, rename="camel"):
    resource_version: str


class _Head(msgspec.Struct):
    metadata: _Metadata


def _keys_by_revision(db: sqlite3.Connection) -> Iterator[tuple[int, tuple[str, str, str]]]:
    head = msgspec.json.Decoder(_Head).decode
    for *key, document in schema.read_objects(db):
        resource, namespace, name = key
        version = head(document).metadata.resource_version
        yield int(version), (str(resource), str(namespace), str(name))


def _renumber(db: sqlite3.Connection, key: tuple[str, str, str], revision: int) -> None:
    where = "resource = ? AND namespace = ? AND name = ?"
    (encoded,) = db.execute(f"SELECT document FROM objects WHERE {where}", key).fetchone()
    document: Any = msgspec.json.decode(encoded)
    document["metadata"]["resourceVersion"] = str(revision)
    encoded = msgspec.json.encode(document)
    db.execute(schema.PUT, (*key, encoded, schema.checksum(*key, encoded)))


def _verify(db: sqlite3.Connection, path: Path) -> FileState:
    result = schema.schema_of(db, path)
    problem = schema.check_pages(db)
    if problem:
        raise StoreDamaged(f"{path} is damaged ({problem})")
    if result == schema.SCHEMA:
        objects, digest = 0, 0
        for row in schema.read_verified(db):
            objects, digest = objects + 1, digest + row[-1]
        if str(digest) != schema.stored_digest(db):
            raise StoreDamaged(f"{path} is damaged (objects are missing or of an earlier revision)")
    else:
        (objects,) = db.execute("SELECT count(*) FROM objects").fetchone()
    return FileState(result, int(schema.get_meta(db, "revision", "0")), objects)


@contextmanager
def _open(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a connection to an existing file; database errors become StoreError."""
    try:
        with closing(
            sqlite3.connect(
                f"{path.absolute().as_uri()}?mode=rw",
                uri=True,
                isolation_level=None,
                timeout=_PATIENCE,
            )
        ) as db:
            yield db
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):
            raise StoreError(f"{path} cannot be read or written ({error})") from error
        raise StoreDamaged(f"{path} is damaged ({error})") from error
