"""Keys that wait for a controller, each at most once."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

PATIENCE = 5.0
"""Seconds after which a deletion that was refused is asked for again."""


class Place(NamedTuple):
    """Where an object is: its table, namespace and name."""

    table: str
    namespace: str
    name: str


class Queue:
    """A set in order of arrival. A place that is added while it is worked on comes again."""

    def __init__(self) -> None:
        self._places: dict[Place, None] = {}
        self._more = asyncio.Event()

    def add(self, place: Place) -> None:
        """Ask for a look at an object."""
        self._places[place] = None
        self._more.set()

    def add_later(self, place: Place) -> None:
        """Ask for a look after a while. A timer: admission that refused, or a webhook that did not
        answer, does not tell when it would agree."""
        asyncio.get_running_loop().call_later(PATIENCE, self.add, place)

    async def next(self) -> Place:
        """The place that waits longest, waiting for one."""
        while not self._places:
            self._more.clear()
            await self._more.wait()
        place = next(iter(self._places))
        del self._places[place]
        return place
