"""Full disks under a folder of kapy: how they are recognised, and the sentence about them."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Final

DISK_FULL: Final = "DiskFull"
"""The reason of a container that waits for space, on the engine's disk or on the agent's."""
_FULL: Final = (errno.ENOSPC, errno.EDQUOT)
_ROOM: Final = 1 << 20
"""Bytes of free space below which a disk counts as full."""


def is_disk_full(error: BaseException) -> bool:
    """Return whether an operation failed because a disk, or a quota on it, is full."""
    return isinstance(error, OSError) and error.errno in _FULL


def full_disk(folder: Path) -> str:
    """Return the sentence for a full disk that holds this folder."""
    return f"the disk of {folder} is full; free some space on it"


def disk_trouble(folder: Path) -> str:
    """Return the sentence if the disk that holds this folder is full now, "" if it is not."""
    try:
        disk = os.statvfs(folder)
    except OSError:
        return ""
    return full_disk(folder) if disk.f_bavail * disk.f_frsize < _ROOM else ""
