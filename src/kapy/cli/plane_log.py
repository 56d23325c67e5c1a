"""The log file of a plane in the background: bounded when written, followed when read."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, TextIO

LIMIT: Final = 16 << 20
"""Bytes after which a log file becomes the former one; the one before that is deleted."""
POLL_SECONDS: Final = 0.2
"""Seconds between two reads of a log that is followed."""


def former_log(log: Path) -> Path:
    """Return the file that holds the lines from before the last rotation."""
    return log.with_name(f"{log.name}.1")


class RotatingStderrHandler(logging.StreamHandler):  # type: ignore[type-arg]
    """Logs to standard error and rotates the file behind it when the file exceeds its limit.

    The streams of the process move to the new file, too, so it also receives tracebacks of the
    interpreter and output of the commands. systemd and launchd open the file only when they start
    the plane, and do not bound it. If standard error is another file, nothing is rotated.

    log: the file to which standard error is expected to lead. limit: bytes.
    """

    def __init__(self, log: Path, limit: int = LIMIT) -> None:
        super().__init__(sys.stderr)
        self._log = log
        self._limit = limit

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record, then rotate the file if it is too large."""
        super().emit(record)
        with suppress(OSError, ValueError):  # a file that cannot be renamed grows further
            if os.fstat(self.stream.fileno()).st_size > self._limit:
                self._rotate()

    def _rotate(self) -> None:
        current = self._log.stat()
        streams = [
            stream.fileno()
            for stream in (sys.stdout, sys.stderr)
            if os.path.samestat(os.fstat(stream.fileno()), current)
        ]
        if self.stream.fileno() not in streams:
            return
        sys.stdout.flush()
        self._log.replace(former_log(self._log))
        log = os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            for descriptor in streams:
                os.dup2(log, descriptor)
        finally:
            os.close(log)


def read_log(log: Path, goes_on: Callable[[], bool]) -> Iterator[str]:
    """Yield the lines of the former log and of the log, and new lines while `goes_on`."""
    with suppress(FileNotFoundError), _open(former_log(log)) as file:
        yield from file
    file = _open(log)
    try:
        while True:
            yield from file
            if not goes_on():
                return
            # There is no portable way to wait for changes of a file.
            time.sleep(POLL_SECONDS)
            if _was_rotated(log, file.fileno()):
                yield from file
                file.close()
                file = _open(log)
    finally:
        file.close()


def _open(log: Path) -> TextIO:
    return log.open(encoding="utf-8", errors="replace")


def _was_rotated(log: Path, descriptor: int) -> bool:
    try:
        return not os.path.samestat(log.stat(), os.fstat(descriptor))
    except FileNotFoundError:  # it is being rotated
        return False
