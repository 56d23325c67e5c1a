"""Files that are written completely or not at all, even if the process is stopped or the disk is
full."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


@contextmanager
def atomic_write(path: Path, *, mode: int = 0o666) -> Iterator[BinaryIO]:
    """A file to write; it is moved to its path, with parent folders, if the block succeeds.

    mode: the maximum permissions of the file. Raises OSError.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    try:
        handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        with os.fdopen(handle, "wb") as file:
            yield file
        unfinished.replace(path)
    finally:
        with suppress(OSError):
            unfinished.unlink()
