"""Log files of containers: the termination message, and the lines for `kubectl logs`."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Final

MAX_LOG_BYTES: Final = 10 << 20
"""Bytes of a log, after which it is moved aside (one earlier part is kept)."""
_TAIL: Final = 16384
_ERROR: Final = re.compile(
    r"^[EF]\d{4} |\t(?:ERROR|FATAL|DPANIC|PANIC)\t|\"(?:error|fatal|panic)\"|^panic: |\b[Ee]rror: "
)
"""A line that tells of an error, as klog, zap and others write it."""
_PIECE: Final = 1 << 16
_STEP: Final = 0.2
"""Seconds between two looks at a file that grows. A timer: files cannot be watched portably."""


def termination_message(path: Path) -> str:
    """Return the last error in a log, else its last line, shortened; "" if it is empty."""
    try:
        with path.open("rb") as file:
            file.seek(max(file.seek(0, os.SEEK_END) - _TAIL, 0))
            return termination_message_of(file.read().decode("utf-8", "replace"))
    except OSError:
        return ""


def termination_message_of(text: str) -> str:
    """Return the last error in the end of a log, else its last line, shortened; "" if it is
    empty.
    """
    lines = text.splitlines()
    line = next((item.strip() for item in reversed(lines) if _ERROR.search(item)), "")
    line = line or next((item.strip() for item in reversed(lines) if item.strip()), "")
    return line if len(line) <= 300 else line[:297] + "..."


def rotate(path: Path) -> None:
    """Move a full log aside. Its writer appends, so it continues at the start of the new file."""
    try:
        if path.stat().st_size > MAX_LOG_BYTES:
            path.with_suffix(".log.1").write_bytes(path.read_bytes())
            os.truncate(path, 0)
    except OSError:
        return  # the disk is full or the log was removed; retried at the next interval


async def read_log(
    path: Path, *, tail: int | None, limit: int | None, follow: Callable[[], bool] | None
) -> AsyncIterator[bytes]:
    """A log in pieces. tail: only the last lines. limit: maximum bytes. follow: returns whether
    more may come, None not to wait."""
    remaining = limit
    with path.open("rb") as file:
        file.seek(0 if tail is None else _start_of(file.fileno(), tail))
        while remaining is None or remaining > 0:
            piece = file.read(_PIECE if remaining is None else min(_PIECE, remaining))
            if piece:
                remaining = None if remaining is None else remaining - len(piece)
                yield piece
                await asyncio.sleep(0)
            elif follow is None or not follow():
                return
            else:
                if os.fstat(file.fileno()).st_size < file.tell():  # it was rotated
                    file.seek(0)
                await asyncio.sleep(_STEP)


def _start_of(handle: int, lines: int) -> int:
    """Return the offset at which the last lines of a file begin."""
    size = os.fstat(handle).st_size
    at, result = size, 0
    while at > 0 and lines > 0:
        start = max(at - _PIECE, 0)
        piece = os.pread(handle, at - start, start)
        for index in range(len(piece) - 1, -1, -1):
            if piece[index] == 0x0A and start + index != size - 1:
                result += 1
                if result == lines:
                    return start + index + 1
        at = start
    return size if lines <= 0 else 0
