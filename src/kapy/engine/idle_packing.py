"""Packs cached objects that a program has not read for a while.

It runs on a timer, since no event shows that an object is not read. It works a few milliseconds at
a time, with a longer pause after each.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Final

from kapy.kube.packed_json import Packer

INTERVAL: Final = 60.0
"""Seconds between two passes. Each pass packs the documents that came before the previous one."""
_SLICE: Final = 0.002
_PAUSE: Final = 0.01

Part = Callable[[Packer], Iterator[None]]
"""Packs what came before the last call of it, a small piece of work at each step."""


async def pack_idle_objects(*parts: Part, interval: float = INTERVAL) -> None:
    """Run all parts once per interval, until cancelled."""
    packer = Packer()
    while True:
        await asyncio.sleep(interval)
        for part in parts:
            await _in_slices(part(packer))
        packer.clear()


async def _in_slices(steps: Iterator[None]) -> None:
    until = time.perf_counter() + _SLICE
    for _ in steps:
        if time.perf_counter() > until:
            await asyncio.sleep(_PAUSE)
            until = time.perf_counter() + _SLICE
