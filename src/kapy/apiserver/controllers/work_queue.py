"""A controller's work queue without duplicates."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import NamedTuple

from kapy._aio.cooperation import Cooperation

PATIENCE = 5.0
"""Seconds until the retry of a refused deletion."""


class ObjectKey(NamedTuple):
    """The key of an object: its table, namespace and name."""

    table: str
    namespace: str
    name: str


class WorkQueue:
    """A queue of object keys, in order of arrival. A key that is added while it is processed is
    queued again.
    """

    def __init__(self) -> None:
        # A dict takes time for each key that was removed from its front.
        self._places: OrderedDict[ObjectKey, None] = OrderedDict()
        self._more = asyncio.Event()
        self._cooperation = Cooperation()

    def add(self, place: ObjectKey) -> None:
        """Add the key of an object to the queue."""
        self._places[place] = None
        self._more.set()

    def add_after(self, place: ObjectKey) -> None:
        """Add the key of an object to the queue after a delay.

        This needs a timer: nothing signals that admission would now accept, or that a webhook
        responds.
        """
        asyncio.get_running_loop().call_later(PATIENCE, self.add, place)

    async def get(self) -> ObjectKey:
        """Wait for the oldest key and remove it from the queue. Other tasks run now and then even
        if there are always keys: a caller that processes them may never wait."""
        await self._cooperation.step()
        while not self._places:
            self._more.clear()
            await self._more.wait()
        return self._places.popitem(last=False)[0]
