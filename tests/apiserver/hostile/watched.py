"""Runs `kapy` with an event loop that records the longest time between two of its turns.

    python -m tests.apiserver.hostile.watched FILE ARGUMENTS…

The loop records CPU time of the process, so that other work on the machine does not count. A long
time between two turns of a short timer means that a callback blocked the loop. FILE holds the
longest such time in seconds as a double. A reader of the file may set it to 0.
"""

from __future__ import annotations

import asyncio
import mmap
import struct
import sys
import time
from pathlib import Path

PAUSE = 0.002
DOUBLE = struct.Struct("d")


class Held:
    """The longest time, shared with another process."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(bytes(DOUBLE.size))
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), DOUBLE.size)

    def note(self, seconds: float) -> None:
        """Remember a time if it is the longest one."""
        if seconds > DOUBLE.unpack_from(self._memory)[0]:
            DOUBLE.pack_into(self._memory, 0, seconds)

    def taken(self) -> float:
        """The longest time since this was asked last."""
        (seconds,) = DOUBLE.unpack_from(self._memory)
        DOUBLE.pack_into(self._memory, 0, 0.0)
        return float(seconds)


class WatchedLoop(asyncio.SelectorEventLoop):
    """An event loop that records the longest time for which it was blocked."""

    held: Held

    def run_forever(self) -> None:
        """Run, and watch."""
        self._turn = time.process_time()
        timer = self.call_soon(self._watch)
        try:
            super().run_forever()
        finally:
            timer.cancel()

    def _watch(self) -> None:
        now = time.process_time()
        self.held.note(now - self._turn)
        self._turn = now
        self.call_later(PAUSE, self._watch)


class _Policy(asyncio.DefaultEventLoopPolicy):
    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        return WatchedLoop()


def main() -> None:
    """Run `kapy` with the arguments after the file."""
    sys.modules["uvloop"] = None  # type: ignore[assignment]  # its loops cannot be watched
    from kapy.cli.main import main as kapy

    WatchedLoop.held = Held(Path(sys.argv[1]))
    asyncio.set_event_loop_policy(_Policy())
    sys.argv = ["kapy", *sys.argv[2:]]
    kapy()


if __name__ == "__main__":
    main()
