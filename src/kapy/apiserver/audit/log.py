"""The audit log's bounded queue, and its file, rotated by size, age and number.

Requests only put lines into the queue; a thread writes them. If the disk is too slow, the newest
lines are dropped, counted (`apiserver_audit_error_total`) and logged once. So requests are never
delayed and memory stays bounded. (kube-apiserver's `batch` mode does the same.)
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

from kapy._aio.clock import Clock
from kapy.kube.errors import KapyError

_log = logging.getLogger(__name__)

LINES: Final = 10_000
BYTES: Final = 64 * 1024 * 1024
"""The most lines, and bytes, in the queue."""

MEGABYTE: Final = 1024 * 1024
STANDARD_OUTPUT: Final = "-"

Write = Callable[[Sequence[bytes]], None]


class LogNotWritable(KapyError):
    """The audit log cannot be opened; the message says why."""


@dataclass(frozen=True, slots=True)
class Rotation:
    """The settings of the rotation of the log file. megabytes: the maximum size (0: 100, as
    upstream). days, backups: the maximum age and number of old files (0: no limit).
    """

    megabytes: int = 0
    days: int = 0
    backups: int = 0


class LogQueue:
    """A bounded queue of log lines. The function `write` is called in a thread, but never
    concurrently. lost: called with the number of lines that could not be written.
    """

    def __init__(self, write: Write, *, lost: Callable[[int], None]) -> None:
        self._to = write
        self._lost = lost
        self._waiting: deque[bytes] = deque()
        self._bytes = 0
        self._more = asyncio.Event()
        self._writing: asyncio.Future[None] | None = None
        self._full = False

    def put(self, line: bytes) -> bool:
        """Queue a line; return whether there was room."""
        if len(self._waiting) >= LINES or self._bytes + len(line) > BYTES:
            if not self._full:
                self._full = True
                _log.error("audit lines are lost: more of them come than can be written")
            return False
        self._waiting.append(line)
        self._bytes += len(line)
        self._more.set()
        return True

    async def run(self) -> None:
        """Write lines until cancelled, then the remaining ones."""
        loop = asyncio.get_running_loop()
        try:
            while True:
                await self._more.wait()
                self._writing = loop.run_in_executor(None, self._write, self._take_lines())
                await asyncio.wait({self._writing})
        finally:
            if self._writing is not None:
                await asyncio.wait({self._writing})
            self.close()

    def close(self) -> None:
        """Write the remaining lines synchronously."""
        if self._waiting:
            self._write(self._take_lines())

    def _take_lines(self) -> list[bytes]:
        lines = list(self._waiting)
        self._waiting.clear()
        self._more.clear()
        self._bytes, self._full = 0, False
        return lines

    def _write(self, lines: Sequence[bytes]) -> None:
        try:
            self._to(lines)
        except OSError as error:
            self._lost(len(lines))
            _log.error("%d audit lines are lost: %s", len(lines), error)


def to_standard_output(lines: Sequence[bytes]) -> None:
    """Write lines to standard output, for container log collection."""
    sys.stdout.buffer.write(b"".join(lines))
    sys.stdout.buffer.flush()


class LogFile:
    """The file of the audit log, which only its owner can read. A full file is renamed as
    lumberjack (used by kube-apiserver) does: `audit-2026-01-31T10-15-00.000.log`.
    """

    def __init__(self, path: Path, rotation: Rotation, clock: Clock) -> None:
        """Open the log file. Raises LogNotWritable."""
        self._path = path
        self._limit = (rotation.megabytes or 100) * MEGABYTE
        self._rotation = rotation
        self._clock = clock
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._handle = _open(path)
        except OSError as error:
            raise LogNotWritable(
                f"the audit log {path} cannot be written: {error.strerror}"
            ) from None
        self._size = os.fstat(self._handle).st_size

    def write(self, lines: Sequence[bytes]) -> None:
        """Append lines; each line is written to one file as a whole. Raises OSError."""
        batch: list[bytes] = []
        room = self._limit - self._size
        for line in lines:
            if len(line) > room and (batch or self._size):
                self._append(batch)
                batch = []
                self._rotate()
                room = self._limit
            batch.append(line)
            room -= len(line)
        self._append(batch)

    def close(self) -> None:
        """Close the log file."""
        os.close(self._handle)

    def _append(self, lines: Sequence[bytes]) -> None:
        content = memoryview(b"".join(lines))
        while content:
            written = os.write(self._handle, content)
            self._size += written
            content = content[written:]

    def _rotate(self) -> None:
        """Start a new file, and delete old files beyond the limits."""
        at = self._clock().strftime("%Y-%m-%dT%H-%M-%S.%f")[:-3]
        os.close(self._handle)
        self._path.rename(self._path.with_name(f"{self._path.stem}-{at}{self._path.suffix}"))
        self._handle, self._size = _open(self._path), 0
        for old in self._expired_files():
            old.unlink(missing_ok=True)

    def _expired_files(self) -> list[Path]:
        pattern = f"{self._path.stem}-*{self._path.suffix}"
        full = sorted(self._path.parent.glob(pattern), reverse=True)
        backups, days = self._rotation.backups, self._rotation.days
        result = full[backups:] if backups else []
        if days:
            oldest = (self._clock() - timedelta(days=days)).timestamp()
            result += [
                path for path in full if path.stat().st_mtime < oldest and path not in result
            ]
        return result


def _open(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
