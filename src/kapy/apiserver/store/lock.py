"""A lock that gives a data directory to one process at a time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kapy.apiserver.store.errors import StoreError, StoreInUse


def boot_id() -> str:
    """Return an id of the current boot of the machine, "unknown" where the system has none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return "unknown"


@contextmanager
def hold_lock(directory: Path) -> Iterator[None]:
    """Hold the lock of a data directory. Raises StoreInUse, StoreError."""
    handle = lock_directory(directory)
    try:
        yield
    finally:
        os.close(handle)


def lock_directory(directory: Path) -> int:
    """Open and lock the lock file of a directory, creating both if needed."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreError(
            f"the data directory {directory} cannot be used: {error.strerror}; make it a directory "
            "that this user may write to, or use another data directory"
        ) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(handle)
        raise StoreInUse(
            f"the data directory {directory} is in use by another process; "
            "stop that one, or choose another directory"
        ) from error
    except OSError as error:
        os.close(handle)
        raise StoreError(
            f"the data directory {directory} cannot be locked: {error.strerror}; use a data "
            "directory on a local file system"
        ) from error
    return handle
