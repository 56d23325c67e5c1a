"""The mark: a small file beside a store's file that records the last acknowledged write.

SQLite cuts a write-ahead log silently where a frame of it is damaged, and opens a file whose log is
missing as if nothing had been written to the log. The mark reveals both: it is written after a
commit and before its acknowledgement, so the store must hold at least that revision.

Two slots are written in turn, each with a checksum: a slot that was torn leaves the other one.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from zlib import crc32

NAME: Final = "store.mark"

_RECORD: Final = struct.Struct("<4sIQQQ16s")
_MAGIC: Final = b"kapy"
_CHECKSUM: Final = struct.Struct("<I")
_USED: Final = _RECORD.size + _CHECKSUM.size
_SLOT: Final = 512
"""Bytes from one slot to the next: one sector, which a disk writes atomically."""

_FLUSHED: Final = 1


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
