"""The user's terminal, for a command that runs in a machine."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
import termios
import threading
import tty
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO, Final

CHUNK_BYTES: Final = 64 << 10
READ_AHEAD: Final = 16
"""Pieces of input that are read before the command has taken them."""


@contextmanager
def raw_terminal(*, enabled: bool) -> Iterator[None]:
    """Pass each key to the command as it is typed, including Ctrl-C, while the context is open."""
    if not enabled:
        yield
        return
    file = sys.stdin.fileno()
    before = termios.tcgetattr(file)
    try:
        tty.setraw(file)
        yield
    finally:
        termios.tcsetattr(file, termios.TCSADRAIN, before)


def unbuffered_writer(file: BinaryIO) -> Callable[[bytes], None]:
    """Return a function that writes output to the terminal without buffering."""

    def write(data: bytes) -> None:
        file.write(data)
        file.flush()

    return write


async def read_input() -> AsyncIterator[bytes]:
    """Standard input in pieces, until it ends.

    A daemon thread reads it, because a read of a terminal cannot be cancelled.
    """
    loop = asyncio.get_running_loop()
    pieces: asyncio.Queue[bytes] = asyncio.Queue(READ_AHEAD)

    def read() -> None:
        file = sys.stdin.fileno()
        while True:
            try:
                piece = os.read(file, CHUNK_BYTES)
                asyncio.run_coroutine_threadsafe(pieces.put(piece), loop).result()
            except (OSError, RuntimeError):  # a file that cannot be polled, or a closed event loop
                return
            if not piece:
                return

    threading.Thread(target=read, daemon=True, name="standard input").start()
    while piece := await pieces.get():
        yield piece


async def terminal_sizes() -> AsyncIterator[tuple[int, int]]:
    """Rows and columns of the terminal: now, and after each change."""
    loop = asyncio.get_running_loop()
    changed = asyncio.Event()
    loop.add_signal_handler(signal.SIGWINCH, changed.set)
    try:
        while True:
            size = shutil.get_terminal_size()
            yield size.lines, size.columns
            await changed.wait()
            changed.clear()
    finally:
        loop.remove_signal_handler(signal.SIGWINCH)
