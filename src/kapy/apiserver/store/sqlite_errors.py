"""Messages for errors of SQLite and the file system."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Final

from kapy.apiserver.store.errors import StoreDamaged, StoreError, StoreInUse

UNTRUSTED: Final = frozenset(
    {
        "SQLITE_CORRUPT",
        "SQLITE_NOTADB",
        "SQLITE_IOERR_FSYNC",
        "SQLITE_CONSTRAINT_PRIMARYKEY",
    }
)
"""Errors after which the content of the file can no longer be trusted."""

_REMEDIES: Final = (
    ("SQLITE_FULL", "free some space"),
    ("SQLITE_IOERR", "see whether the disk is full or broken"),
    ("SQLITE_READONLY", "make the file and its file system writable"),
    ("SQLITE_BUSY", "another program holds a lock on it: close that one"),
)
_WHILE_IT_RUNS: Final = "a plane that runs writes again by itself then, and is read meanwhile"
"""Appended to the condition, because the same error may also stop a plane from starting."""


def error_name(error: BaseException) -> str:
    """Return SQLite's name of an error, "" for any other error."""
    return str(getattr(error, "sqlite_errorname", ""))


def open_error(path: Path, error: sqlite3.Error | OSError) -> StoreError:
    """Return the error for a file that cannot be opened."""
    name = error_name(error)
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
    if name.startswith("SQLITE_IOERR"):
        return StoreError(
            f"{path} cannot be read or written ({error}); see whether the disk is full or broken, "
            "or use a data directory on a local file system"
        )
    return StoreDamaged(
        f"{path} cannot be read ({error}); restore a backup (`kapy restore`) or use another "
        "directory"
    )


def write_error(path: Path, error: sqlite3.Error) -> StoreError:
    """Return the error for a write that failed and left nothing behind."""
    name = error_name(error)
    for prefix, remedy in _REMEDIES:
        if name.startswith(prefix):
            return StoreError(f"writing to {path} failed: {error}; {remedy} ({_WHILE_IT_RUNS})")
    return StoreError(f"writing to {path} failed: {error}; a plane that runs is read meanwhile")
