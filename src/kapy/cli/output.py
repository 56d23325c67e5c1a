"""Standard output: how wide it is, what happens when it cannot be written, and our name in it."""

from __future__ import annotations

import os
import shutil
import sys

NOBODY_READS = 141


def terminal_width() -> int | None:
    """The columns of the terminal that output goes to; None when it goes to a file or a pipe."""
    return shutil.get_terminal_size((100, 24)).columns if sys.stdout.isatty() else None


def own_name() -> str:
    """What this command is called by: its path where it is not on PATH (`make quickstart`)."""
    return "kapy" if shutil.which("kapy") else sys.argv[0]


def given_up(error: OSError) -> int:
    """The exit code after output was lost: what is still in buffers is not tried again at exit.

    A full disk is told; a reader that went away is no error of ours.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return NOBODY_READS
    sys.stderr.write(
        f"Error: cannot write to standard output: {error.strerror}; make room, or write elsewhere\n"
    )
    return 1
