"""A controller's work queue without duplicates."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

PATIENCE = 5.0
"""Seconds until the retry of a refused deletion."""


class ObjectKey(NamedTuple):
    """The key of an object: its table, namespace and name."""

    table: str
    namespace: str
    name: str


class WorkQueue:
    """A set in order of arrival. A key that is added while it is processed is queued again."""

    def __init__(self) -> None:
        self._places: dict[ObjectKey, None] = {}
        self._more = asyncio.Event()

    def add(self, place: ObjectKey) -> None:
        """Queue an object."""
        self._places[place] = None
        self._more.set()

    def add_after(self, place: ObjectKey) -> None:
        """Queue an object after a delay.

        This needs a timer: nothing signals that admission would now accept, or that a webhook
        responds.
        """
        asyncio.get_running_loop().call_later(PATIENCE, self.add, place)

    async def get(self) -> ObjectKey:
        """Wait for the oldest key and remove it from the queue."""
        while not self._places:
            self._more.clear()
            await self._more.wait()
        place = next(iter(self._places))
        del self._places[place]
        return place
