"""The places of a controller's workers, and waiting that takes none.

A controller works on a few keys at a time. A reconcile that waits for a server which it shares with
no other key (a workload cluster's) gives its place to another worker meanwhile, so that servers
which answer late, or never, keep nobody from the others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

AWAY: Final = 1000
"""Reconciles of one controller that may wait without a place at a time; they cost memory only."""


class Places:
    """How many workers a controller has. vacant: called when one more may come."""

    __slots__ = ("_away", "_vacant", "number", "taken")

    def __init__(self, number: int, vacant: Callable[[], None]) -> None:
        self.number = number
        self.taken = 0
        self._away = 0
        self._vacant = vacant

    @property
    def are_free(self) -> bool:
        """Whether one more worker may come."""
        return self.taken < self.number

    @property
    def are_short(self) -> bool:
        """Whether there are more workers than places, as some came back: one has to go."""
        return self.taken > self.number

    def leave(self) -> bool:
        """Let another worker come for a while; False where too many wait already."""
        if self._away >= AWAY:
            return False
        self._away += 1
        self.taken -= 1
        self._vacant()
        return True

    def come_back(self) -> None:
        """Go on at once: whoever waited for a place might hold what a worker waits for."""
        self._away -= 1
        self.taken += 1


class _Worker:
    """One worker's place. waits: for how many things it waits without it."""

    __slots__ = ("is_away", "places", "waits")

    def __init__(self, places: Places) -> None:
        self.places = places
        self.waits = 0
        self.is_away = False


class _Absence:
    """One thing that a worker waits for."""

    __slots__ = ("_begun", "_worker")

    def __init__(self, worker: _Worker) -> None:
        self._worker = worker
        self._begun = False

    def begin(self) -> None:
        worker, self._begun = self._worker, True
        worker.waits += 1
        if not worker.is_away:
            worker.is_away = worker.places.leave()

    def end(self) -> None:
        worker = self._worker
        worker.waits -= self._begun
        if worker.is_away and not worker.waits:
            worker.is_away = False
            worker.places.come_back()


_WORKER: Final[ContextVar[_Worker | None]] = ContextVar("_WORKER", default=None)


def take_place(places: Places) -> None:
    """Count this task, and those that it starts, as one worker from now on."""
    places.taken += 1
    _WORKER.set(_Worker(places))


@contextmanager
def away(after: float = 0.0) -> Iterator[None]:
    """What is waited for in here takes no worker's place, or not for longer than `after` seconds.

    A timer, because nothing tells that something takes long. Where no controller is at work it
    does nothing.
    """
    worker = _WORKER.get()
    if worker is None:
        yield
        return
    absence = _Absence(worker)
    timer = asyncio.get_running_loop().call_later(after, absence.begin) if after else None
    if timer is None:
        absence.begin()
    try:
        yield
    finally:
        if timer is not None:
            timer.cancel()
        absence.end()
