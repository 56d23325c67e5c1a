"""The worker slots of a controller, and waiting that uses none.

A controller reconciles a few keys at a time. A reconcile that waits for a server which it shares
with no other key (a workload cluster's) yields its slot to another worker meanwhile, so that slow
or dead servers do not delay other keys.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

BEGUN_IN_A_TURN: Final = 16
"""Reconciles of a program that begin in one turn of the event loop."""
MAX_YIELDED: Final = 1000
"""Reconciles of one controller that may wait without a place at a time; they cost memory only."""


class WorkerSlots:
    """The worker slots of a controller. vacant: called when a slot becomes free."""

    __slots__ = ("_on_free_slot", "_yielded", "number", "used")

    def __init__(self, number: int, vacant: Callable[[], None]) -> None:
        self.number = number
        self.used = 0
        self._yielded = 0
        self._on_free_slot = vacant

    @property
    def has_free_slot(self) -> bool:
        """Whether a slot is free, so that one more worker may start."""
        return self.used < self.number

    @property
    def is_overcommitted(self) -> bool:
        """Whether there are more workers than slots, since some reclaimed theirs: one worker has to
        end.
        """
        return self.used > self.number

    def release(self) -> bool:
        """Yield a slot for a while; return False if too many workers have yielded already."""
        if self._yielded >= MAX_YIELDED:
            return False
        self._yielded += 1
        self.used -= 1
        self._on_free_slot()
        return True

    def reclaim(self) -> None:
        """Reclaim a slot at once: a worker that waits for a slot might hold what this worker
        waits for.
        """
        self._yielded -= 1
        self.used += 1


class TurnLimit:
    """Limits the reconciles that begin in one turn of the event loop.

    A reconcile computes for milliseconds before it waits for anything, and a program has hundreds
    of workers. If all of them began in one turn, as after a restart beside thousands of clusters,
    requests, Leases and timers would wait for seconds.
    """

    __slots__ = ("_begun", "_is_scheduled", "_number", "_waiting")

    def __init__(self, number: int = BEGUN_IN_A_TURN) -> None:
        self._number = number
        self._begun = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_scheduled = False

    async def wait(self) -> None:
        """Wait until a reconcile may begin, in order of arrival."""
        loop = asyncio.get_running_loop()
        if not self._is_scheduled:
            self._is_scheduled = True
            loop.call_soon(self._begin_turn)
        if self._begun < self._number and not self._waiting:
            self._begun += 1
            return
        turn = loop.create_future()
        self._waiting.append(turn)
        await turn

    def _begin_turn(self) -> None:
        self._begun = 0
        while self._waiting and self._begun < self._number:
            turn = self._waiting.popleft()
            if not turn.done():  # its worker may have been cancelled
                turn.set_result(None)
                self._begun += 1
        self._is_scheduled = self._begun > 0
        if self._is_scheduled:
            asyncio.get_running_loop().call_soon(self._begin_turn)


class _Worker:
    """A worker and its slot. waits: the number of waits of the worker that are in progress."""

    __slots__ = ("has_yielded", "slots", "waits")

    def __init__(self, places: WorkerSlots) -> None:
        self.slots = places
        self.waits = 0
        self.has_yielded = False


class _YieldedWait:
    """One wait of a worker, during which its slot is yielded."""

    __slots__ = ("_begun", "_worker")

    def __init__(self, worker: _Worker) -> None:
        self._worker = worker
        self._begun = False

    def begin(self) -> None:
        worker, self._begun = self._worker, True
        worker.waits += 1
        if not worker.has_yielded:
            worker.has_yielded = worker.slots.release()

    def end(self) -> None:
        worker = self._worker
        worker.waits -= self._begun
        if worker.has_yielded and not worker.waits:
            worker.has_yielded = False
            worker.slots.reclaim()


_WORKER: Final[ContextVar[_Worker | None]] = ContextVar("_WORKER", default=None)


def occupy_slot(places: WorkerSlots) -> None:
    """Count this task, and those that it starts, as one worker from now on."""
    places.used += 1
    _WORKER.set(_Worker(places))


@contextmanager
def yield_slot(after: float = 0.0) -> Iterator[None]:
    """Release this worker's concurrency slot while awaiting in this block (after `after` seconds).

    It uses a timer, because there is no event for slowness. Outside of a controller it does
    nothing.
    """
    worker = _WORKER.get()
    if worker is None:
        yield
        return
    absence = _YieldedWait(worker)
    timer = asyncio.get_running_loop().call_later(after, absence.begin) if after else None
    if timer is None:
        absence.begin()
    try:
        yield
    finally:
        if timer is not None:
            timer.cancel()
        absence.end()
