"""Streams of lines that let the event loop run other tasks in between."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator
from typing import Final, TypeVar

from kapy._aio.cooperation import Cooperation

Item = TypeVar("Item")

LINES_PER_TURN: Final = 200
"""Lines that are taken at once: a few milliseconds."""


async def cooperate(items: AsyncIterable[Item]) -> AsyncIterator[Item]:
    """Yield the same items, and yield to the event loop after every `LINES_PER_TURN`: reading a
    line that has already arrived never does."""
    cooperation = Cooperation(LINES_PER_TURN)
    async for item in items:
        yield item
        await cooperation.step()
