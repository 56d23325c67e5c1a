"""Copies of a store's file: taken while a server writes to it, and made ready to be served again.

Nothing here needs the server: SQLite lets a second process read a consistent state meanwhile.
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
from kapy.apiserver.store.completeness import boot_number, check_format, check_revision
from kapy.apiserver.store.errors import StoreDamaged, StoreError
from kapy.apiserver.store.lock import boot_id
from kapy.apiserver.store.mark import MarkFile, read_mark
from kapy.apiserver.store.sqlite import REVISION_JUMP

_PATIENCE = 5.0
"""Seconds to wait for a lock: a server that starts holds one shortly."""


@dataclass(frozen=True, slots=True)
class State:
    """What a file holds. revision: the last one that was given out."""

    schema: int
    revision: int
    objects: int


def copied(source: Path, target: Path) -> State:
    """Copy the file at one moment of its life to `target` (0600), and prove the copy.

    Raises StoreError, StoreDamaged, and DataLost where acknowledged writes are missing.
    """
    mark = read_mark(source.parent)  # before the copy: a server may write on meanwhile
    os.close(os.open(target, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    with _opened(source) as there, _opened(target) as here:
        there.backup(here)
        here.execute("PRAGMA journal_mode = DELETE")
        if not schema.has_tables(here):
            check_format(source, mark)
        found = _proved(here, source)
        if found.schema == schema.SCHEMA:
            identity = bytes.fromhex(schema.meta(here, "store", ""))
            boot = boot_number(boot_id())
            check_revision(source, mark, identity, found.revision, boot)
        return found


def state_of(path: Path) -> State:
    """What a file holds, all of it proved. Raises StoreError, StoreDamaged."""
    with _opened(path) as db:
        return _proved(db, path)


def renewed(path: Path, above: int) -> State:
    """Make a copied file one that a server can go on from, whatever was served since.

    Its format becomes the present one. All revisions rise above `above` and above all that may
    have been given out after the copy was taken, in the order that they had: nobody who knows a
    later state takes a restored object for an older one, or one revision for another. Raises
    StoreError, StoreDamaged.
    """
    with _opened(path) as db:
        schema.prepare(db, path)
        found = _proved(db, path)
        revision = max(found.revision, above) + REVISION_JUMP
        db.execute("BEGIN IMMEDIATE")
        for _, key in sorted(_order(db), key=itemgetter(0)):
            revision += 1
            _renumber(db, key, revision)
        schema.put_revision(db, revision, schema.digest_of(db))
        db.execute("DELETE FROM meta WHERE key = 'boot'")
        db.execute("COMMIT")
        _mark(db, path, revision)
    return State(schema.SCHEMA, revision, found.objects)


def _mark(db: sqlite3.Connection, path: Path, revision: int) -> None:
    """Put a mark beside a file, as when it was closed."""
    identity = bytes.fromhex(schema.meta(db, "store", ""))
    marks = MarkFile(path.parent, boot=0, flushed=True)
    try:
        marks.begin(revision, system_clock().timestamp(), identity)
        marks.settle()
    finally:
        marks.close()


class _Metadata(msgspec.Struct, rename="camel"):
    resource_version: str


class _Head(msgspec.Struct):
    metadata: _Metadata


def _order(db: sqlite3.Connection) -> Iterator[tuple[int, tuple[str, str, str]]]:
    head = msgspec.json.Decoder(_Head).decode
    for *key, document in schema.objects_of(db):
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


def _proved(db: sqlite3.Connection, path: Path) -> State:
    found = schema.schema_of(db, path)
    problem = schema.check(db)
    if problem:
        raise StoreDamaged(f"{path} is damaged ({problem})")
    if found == schema.SCHEMA:
        objects, digest = 0, 0
        for row in schema.proved(db):
            objects, digest = objects + 1, digest + row[-1]
        if str(digest) != schema.stored_digest(db):
            raise StoreDamaged(f"{path} is damaged (objects are missing or of an earlier revision)")
    else:
        (objects,) = db.execute("SELECT count(*) FROM objects").fetchone()
    return State(found, int(schema.meta(db, "revision", "0")), objects)


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection to a file that is there; what goes wrong with it is a StoreError."""
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
