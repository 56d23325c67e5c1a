"""Checks at startup that a data directory holds every acknowledged write, as far as its mark can
prove.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from kapy.apiserver.store.errors import DataLost
from kapy.apiserver.store.mark import NAME, Mark

_log = logging.getLogger(__name__)

_REMEDY: Final = (
    "Restore a backup (`kapy restore --force`), put the missing file back, or go on with what is "
    "there: `kapy up --accept-data-loss`"
)


def boot_number(boot: str) -> int:
    """Return a number other than 0 that identifies a boot of the machine."""
    return int.from_bytes(hashlib.blake2b(boot.encode(), digest_size=8).digest(), "little") | 1


def check_presence(path: Path, mark: Mark | None, keys: Sequence[Path] = ()) -> None:
    """Check that the store's file exists if there are traces of an earlier run.

    path: the file. keys: other files that an earlier run leaves. Raises DataLost.

    Call this before SQLite opens the file, because SQLite deletes the log of an empty file.
    """
    if path.exists() and path.stat().st_size:
        return
    log = path.with_name(f"{path.name}-wal")
    there = [*sorted(path.parent.glob("*.key")), *(key for key in keys if key.exists())]
    if mark is not None and mark.revision:
        trace = f"{NAME} tells of {_describe(mark)}"
    elif log.exists() and log.stat().st_size:
        trace = f"its write-ahead log {log.name} is there"
    elif there:
        trace = f"{there[0]} of an earlier run is there"
    else:
        return
    state = "is empty" if path.exists() else "is missing"
    raise DataLost(f"{path} {state}, but {trace}. {_REMEDY}")


def check_format(path: Path, mark: Mark | None) -> None:
    """Check that no mark exists for a file without tables or of an older format.

    Raises DataLost.
    """
    if mark is not None and mark.revision:
        _keep_log(path)
        raise DataLost(
            f"{path} is empty or of an older format, but {NAME} tells of {_describe(mark)}: "
            "another file was put here, or the write-ahead log beside it is missing or damaged. "
            f"{_REMEDY}"
        )


def check_revision(path: Path, mark: Mark | None, store: bytes, revision: int, boot: int) -> int:
    """Compare a file's revision with its mark; return the newest revision that was given out.

    store, revision: the file's identity and revision. boot: the current boot of the machine. Raises
    DataLost.
    """
    if mark is None:
        raise DataLost(
            f"{path.with_name(NAME)} is missing or cannot be read, so nothing proves that {path} "
            f"holds all that was acknowledged (it ends with revision {revision}). {_REMEDY}"
        )
    if not mark.revision or (mark.store == store and mark.revision <= revision):
        return revision
    if mark.store != store:
        raise DataLost(f"{path.with_name(NAME)} belongs to another file than {path}. {_REMEDY}")
    if not mark.flushed and mark.boot not in (0, boot):
        _log.warning(
            "the machine ended without a shutdown: the last %d revisions before %s are lost "
            "(--durability power-loss keeps them)",
            mark.revision - revision,
            f"{mark.moment:%F %T} UTC",
        )
        return mark.revision
    _keep_log(path)
    raise DataLost(
        f"{path} lacks acknowledged writes: it ends with revision {revision}, and {NAME} tells of "
        f"{_describe(mark)}. The write-ahead log {path.name}-wal is missing or damaged. {_REMEDY}"
    )


def check_digest(path: Path, value: int, stored: int) -> None:
    """Compare the digest of all objects with the stored digest. Raises DataLost."""
    if value != stored:
        raise DataLost(
            f"{path} does not hold the objects that were written last: one or more are missing or "
            f"of an earlier revision. {_REMEDY}"
        )


def _describe(mark: Mark) -> str:
    return f"revision {mark.revision}, acknowledged at {mark.moment:%F %T} UTC"


def _keep_log(path: Path) -> None:
    """Keep a copy of the write-ahead log for inspection; SQLite deletes the log on close."""
    log = path.with_name(f"{path.name}-wal")
    copy = path.with_name(f"{path.name}-wal.damaged")
    if not log.exists() or not log.stat().st_size or copy.exists():
        return
    with suppress(OSError):
        try:
            os.link(log, copy)
        except OSError:  # a file system without hard links
            shutil.copyfile(log, copy)
            copy.chmod(0o600)
