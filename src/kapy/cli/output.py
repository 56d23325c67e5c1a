"""Standard output that cannot be written."""

from __future__ import annotations

import os
import sys

NOBODY_READS = 141


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
