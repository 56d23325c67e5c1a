"""Standard output: its width, its write errors, and the name of this program in messages."""

from __future__ import annotations

import os
import shutil
import sys

BROKEN_PIPE_EXIT_CODE = 141


def terminal_width() -> int | None:
    """Return the columns of the output terminal; None for a file or a pipe."""
    return shutil.get_terminal_size((100, 24)).columns if sys.stdout.isatty() else None


def own_name() -> str:
    """Return the name of this command in messages: its path if it is not on PATH (`make
    quickstart`).
    """
    return "kapy" if shutil.which("kapy") else sys.argv[0]


def write_failure_code(error: OSError) -> int:
    """Return the exit code after a failed write; buffered output is dropped, so it is not written
    again at exit.

    A full disk is reported; a closed pipe is not an error.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return BROKEN_PIPE_EXIT_CODE
    sys.stderr.write(
        f"Error: cannot write to standard output: {error.strerror}; make room, or write elsewhere\n"
    )
    return 1
