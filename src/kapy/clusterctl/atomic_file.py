"""Files that are there as a whole or not at all, whoever stops or fills the disk meanwhile."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


@contextmanager
def atomic_write(path: Path, *, mode: int = 0o666) -> Iterator[BinaryIO]:
    """A file to write; it comes into its place, and folders above it, when that went well.

    mode: the most that others may do with it. Raises OSError.
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
