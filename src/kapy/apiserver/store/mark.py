"""The mark: a small file beside a store's file that records the last acknowledged write.

SQLite cuts a write-ahead log silently where a frame of it is damaged, and opens a file whose log is
missing as if nothing had been written to the log. The mark reveals both: it is written after a
commit and before its acknowledgement, so the store must hold at least that revision. The checks at
startup compare both.

Two slots are written in turn, each with a checksum: a slot that was torn leaves the other one.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from zlib import crc32

from kapy.apiserver.store.errors import DataLost

NAME: Final = "store.mark"

_RECORD: Final = struct.Struct("<4sIQQQ16s")
_MAGIC: Final = b"kapy"
_CHECKSUM: Final = struct.Struct("<I")
_USED: Final = _RECORD.size + _CHECKSUM.size
_SLOT: Final = 512
"""Bytes from one slot to the next: one sector, which a disk writes atomically."""

_FLUSHED: Final = 1

_log = logging.getLogger(__name__)
_REMEDY: Final = (
    "Restore a backup (`kapy restore --force`), put the missing file back, or go on with what is "
    "there: `kapy up --accept-data-loss`"
)


@dataclass(frozen=True, slots=True)
class Mark:
    """The state of a store at the last acknowledged write.

    revision: 0 before the first write. written: the wall-clock time in seconds. store: the identity
    of the store's file. boot: the boot of the machine, 0 after a clean shutdown. flushed: whether
    the write was flushed to the disk, and not only handed to the kernel.
    """

    revision: int
    written: float
    store: bytes
    boot: int = 0
    flushed: bool = False

    @property
    def moment(self) -> datetime:
        """Return the time at which the write was acknowledged."""
        return datetime.fromtimestamp(self.written, UTC)


def read_mark(directory: Path) -> Mark | None:
    """Return the newest mark of a data directory, None if none can be read."""
    try:
        with (directory / NAME).open("rb") as file:
            content = file.read(2 * _SLOT)
    except OSError:
        return None
    slots = list(_slots(content))
    return max(slots, key=lambda mark: (mark.revision, mark.written), default=None)


def _slots(content: bytes) -> Iterator[Mark]:
    for start in (0, _SLOT):
        record = content[start : start + _RECORD.size]
        proof = content[start + _RECORD.size : start + _USED]
        if len(proof) < _CHECKSUM.size or _CHECKSUM.pack(crc32(record)) != proof:
            continue
        magic, flags, revision, milliseconds, boot, store = _RECORD.unpack(record)
        if magic == _MAGIC:
            yield Mark(revision, milliseconds / 1000, store, boot, bool(flags & _FLUSHED))


class MarkFile:
    """The open mark file of a data directory. Methods raise OSError."""

    __slots__ = ("_boot", "_directory", "_flags", "_handle", "_store", "_turn")

    def __init__(self, directory: Path, *, boot: int, flushed: bool) -> None:
        self._directory = directory
        self._handle = os.open(directory / NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._boot = boot
        self._flags = _FLUSHED if flushed else 0
        self._store = bytes(16)
        self._turn = 0

    def begin(self, revision: int, written: float, store: bytes) -> None:
        """Overwrite both slots, so that their earlier content no longer counts."""
        self._store = store
        self.write(revision, written)
        self.write(revision, written)

    def write(self, revision: int, written: float) -> None:
        """Record a committed write."""
        record = _RECORD.pack(
            _MAGIC, self._flags, revision, max(int(written * 1000), 0), self._boot, self._store
        )
        os.pwrite(self._handle, record + _CHECKSUM.pack(crc32(record)), self._turn * _SLOT)
        self._turn ^= 1

    def end(self, revision: int, written: float) -> None:
        """Record that the store was closed cleanly with everything on the disk, and close the
        file.
        """
        self._boot = 0
        with suppress(OSError):  # the next start then treats the store as after a crash
            self.write(revision, written)
            self.write(revision, written)
        self.close()

    def flush(self) -> None:
        """Flush the file and its directory entry, so that they survive a loss of power."""
        os.fsync(self._handle)
        directory = os.open(self._directory, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)

    def close(self) -> None:
        """Close the mark file."""
        os.close(self._handle)


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
