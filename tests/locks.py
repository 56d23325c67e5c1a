"""Locks between processes: to see whether another one still runs, and to take turns."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import gettempdir
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


@contextmanager
def taking_turns(name: str) -> Iterator[None]:
    """Wait until no other worker of this user uses what `name` stands for."""
    with (Path(gettempdir()) / f"kapy-tests-{os.getuid()}-{name}").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
