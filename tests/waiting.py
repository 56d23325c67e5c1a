"""Waiting in tests on real time, for what cannot be watched."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

LIMIT: Final = 120.0
"""Seconds after which a test gives up. Other work on the machine may take most of them."""


async def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds; fails after LIMIT seconds."""
    for _ in range(int(LIMIT * 100)):
        if holds():
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"it did not hold within {LIMIT:.0f} s")
