"""Lines of an answer, read so that the event loop has its turn between them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator
from typing import Final, TypeVar

Item = TypeVar("Item")

LINES_PER_TURN: Final = 200
"""Lines that are taken at once: a few milliseconds."""


async def yielding(items: AsyncIterable[Item]) -> AsyncIterator[Item]:
    """The same items. Reading a line that has arrived already does not wait for anything."""
    taken = 0
    async for item in items:
        yield item
        taken += 1
        if taken % LINES_PER_TURN == 0:
            await asyncio.sleep(0)
