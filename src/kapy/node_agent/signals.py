"""A notification for several waiters."""

from __future__ import annotations

import asyncio


class Signal:
    """Wakes all waiters; a notification between two waits of the same waiter is not lost."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def notify(self) -> None:
        """Report a change."""
        self._event.set()
        self._event = asyncio.Event()

    async def wait(self) -> None:
        """Wait for the next notification."""
        await self._event.wait()
