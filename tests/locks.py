"""Locks that tell whether another process still runs, whoever reaps it."""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import Final

HOLD: Final = """
import fcntl
held = (folder / "lock").open("w")
fcntl.flock(held, fcntl.LOCK_EX)
"""
"""Code of a program that holds the lock of a `folder` as long as it lives."""


def is_held(folder: Path) -> bool:
    """Whether a process holds the lock of a folder."""
    with (folder / "lock").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False
