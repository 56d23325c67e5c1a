"""Long work in steps that let the event loop run other tasks in between."""

from __future__ import annotations

import asyncio
from typing import Final

STEPS_PER_TURN: Final = 32


class Cooperation:
    """Lets other tasks run after every `number` steps of work that may never wait.

    The number is fixed, and not the time: simulations play the same on every machine.
    """

    __slots__ = ("_count", "_number")

    def __init__(self, number: int = STEPS_PER_TURN) -> None:
        self._number = number
        self._count = 0

    async def step(self) -> None:
        """Count a step, and let other tasks run if it is due."""
        self._count += 1
        if self._count % self._number == 0:
            await asyncio.sleep(0)
