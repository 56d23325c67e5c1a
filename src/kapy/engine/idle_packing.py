"""Packs cached objects that a program has not read for a while.

It runs on a timer, since no event shows that an object is not read. It works a few milliseconds at
a time, with a longer pause after each.
"""

from __future__ import annotations

import asyncio
import ctypes
import sys
import time
from collections.abc import Callable, Iterator
from typing import Final

from kapy.kube.packed_json import Packer

INTERVAL: Final = 60.0
"""Seconds between two passes. Each pass packs the documents that came before the previous one."""
LONGEST_TRIM: Final = 0.1
"""Seconds that one return of free memory may take: the event loop waits for it."""
_SLICE: Final = 0.002
_PAUSE: Final = 0.01

Part = Callable[[Packer], Iterator[None]]
"""Packs what came before the last call of it, a small piece of work at each step."""


async def pack_idle_objects(*parts: Part, interval: float = INTERVAL) -> None:
    """Run all parts once per interval, until cancelled."""
    packer, trim = Packer(), _trim_function()
    while True:
        await asyncio.sleep(interval)
        packed = 0
        for part in parts:
            packed += await _in_slices(part(packer))
        packer.clear()
        if packed and trim is not None and trim() > LONGEST_TRIM:
            trim = None  # the heap of this process is too large for it


def _trim_function() -> Callable[[], float] | None:
    """Return a function that gives free memory back to the system, and returns the seconds that it
    took; None where the allocator has no such function.

    Packed documents leave holes between those that stay, which glibc keeps otherwise.
    """
    if sys.platform != "linux":
        return None
    try:
        release = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError):  # of another C library
        return None

    def trim() -> float:
        began = time.perf_counter()
        release(0)
        return time.perf_counter() - began

    return trim


async def _in_slices(steps: Iterator[None]) -> int:
    """Take all steps; return their number."""
    number, until = 0, time.perf_counter() + _SLICE
    for _ in steps:
        number += 1
        if time.perf_counter() > until:
            await asyncio.sleep(_PAUSE)
            until = time.perf_counter() + _SLICE
    return number
