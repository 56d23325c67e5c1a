"""The work queue of a controller: by priority, then first in, first out.

A key is in the queue once, however often it is added. A key that is being reconciled is not
returned again; if it is added meanwhile, it is queued when it is done. A key may instead wait for a
timer, with a reason; adding it ends that wait.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import NamedTuple, Protocol, TypeAlias

from kapy.kube import Key

INITIAL = -100
"""Priority of objects that were there when the program started (upstream's priority queue)."""


class QueueObserver(Protocol):
    """Receives the events of a work queue, to count them in metrics."""

    def count_add(self, *, retry: bool) -> None:
        """Count a key that was added to the queue."""
        ...

    def count_start(self, waited: float) -> None:
        """Count a key that a worker starts after waiting for so many seconds."""
        ...


_Place: TypeAlias = tuple[int, int, Key, float]
"""A key in the queue: priority (negative), number, key, since when."""


class _Timer(NamedTuple):
    handle: asyncio.TimerHandle
    because: str


class Queue:
    """The work queue of a controller: keys to reconcile. short: called when a key is added and no
    worker waits for one.
    """

    def __init__(
        self, watching: QueueObserver | None = None, short: Callable[[], None] = lambda: None
    ) -> None:
        self.watching = watching
        self._short = short
        self.running: dict[Key, float] = {}
        self._heap: list[_Place] = []
        self._places: dict[Key, _Place] = {}
        self._dirty: dict[Key, int] = {}
        self._gathering: dict[Key, float] = {}
        self._timers: dict[Key, _Timer] = {}
        self._count = 0
        self._idle: deque[asyncio.Future[None]] = deque()
        self._now: Callable[[], float] = lambda: 0.0
        self.is_open = False

    def __len__(self) -> int:
        return len(self._places)

    @property
    def waiting(self) -> int:
        """Return the number of keys that wait for a timer."""
        return len(self._timers)

    def by_priority(self) -> dict[int, int]:
        """Return the number of keys that wait for a worker, by priority."""
        counts: dict[int, int] = {}
        for place in self._places.values():
            priority = -place[0]
            counts[priority] = counts.get(priority, 0) + 1
        return counts

    def running_for(self) -> list[float]:
        """Return for how many seconds each running key has been reconciled."""
        now = self._now()
        return [now - began for began in self.running.values()]

    def add(self, key: Key, priority: int = 0, *, retry: bool = False) -> None:
        """Add a key; a higher priority than before moves it forward."""
        if self._timers:
            self._forget_timer(key)
        if key in self.running:
            self._dirty[key] = max(priority, self._dirty.get(key, priority))
            return
        entry = self._places.get(key)
        if entry is not None and -entry[0] >= priority:
            return
        self._count += 1
        since = self._now() if entry is None else entry[3]
        place = (-priority, self._count, key, since)
        self._places[key] = place
        heappush(self._heap, place)
        if entry is None and self.watching is not None:
            self.watching.count_add(retry=retry)
        if self._idle:
            self._wake_one()
        else:
            self._short()

    def add_after(self, key: Key, delay: float, because: str, *, retry: bool = False) -> None:
        """Add a key after `delay` seconds, unless it is added before."""
        if key in self._places or key in self._dirty:
            return
        self._forget_timer(key)
        loop = asyncio.get_running_loop()
        handle = loop.call_later(delay, self._due, key, retry)
        self._timers[key] = _Timer(handle, because)

    def add_debounced(self, key: Key, within: float) -> None:
        """Add a key within `within` seconds at most, so that further changes are combined
        with it.
        """
        if key in self._places or key in self._dirty:
            return
        if key in self.running:
            self._gathering[key] = min(within, self._gathering.get(key, within))
            return
        timer = self._timers.get(key)
        if timer is None or timer.handle.when() > self._now() + within:
            self.add_after(key, within, "gathering changes")

    def timer_of(self, key: Key) -> tuple[float, str] | None:
        """Return when (loop time) the timer of a key fires, and its reason."""
        timer = self._timers.get(key)
        return None if timer is None else (timer.handle.when(), timer.because)

    def take(self) -> Key | None:
        """Return the next key, None if there is none (then use `wait_for_key`); give it back with
        `done`.
        """
        heap, places = self._heap, self._places
        while heap:
            place = heappop(heap)
            key = place[2]
            if places.get(key) is place:  # otherwise its place has changed since
                del places[key]
                now = self._now()
                self.running[key] = now
                if self.watching is not None:
                    self.watching.count_start(now - place[3])
                return key
        return None

    def done(self, key: Key) -> bool:
        """Mark a key as done; return True if it was added meanwhile and is queued again."""
        del self.running[key]
        priority = self._dirty.pop(key, None) if self._dirty else None
        within = self._gathering.pop(key, None) if self._gathering else None
        if priority is not None:
            self.add(key, priority)
        elif within is not None:
            self.add_debounced(key, within)
        else:
            return False
        return True

    def open(self) -> None:
        """Start measuring wait times by the running loop's clock."""
        self.is_open = True
        self._now = asyncio.get_running_loop().time
        now = self._now()
        self._heap = [(*place[:3], now) for place in self._places.values()]
        heapify(self._heap)
        self._places = {place[2]: place for place in self._heap}

    def close(self) -> None:
        """Requeue running and delayed keys, for the next time that the queue is opened."""
        self.is_open = False
        again = [*self.running, *self._timers]
        for timer in self._timers.values():
            timer.handle.cancel()
        self._timers.clear()
        for keys in (self.running, self._dirty, self._gathering):
            keys.clear()
        for key in again:
            self.add(key)

    def _due(self, key: Key, retry: bool) -> None:  # noqa: FBT001 - a loop callback
        self._timers.pop(key, None)
        self.add(key, retry=retry)

    def _forget_timer(self, key: Key) -> None:
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.handle.cancel()

    async def wait_for_key(self) -> None:
        """Wait until there is a key (which another worker may have taken by then)."""
        if self._heap:
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._idle.append(future)
        try:
            await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                self._wake_one()  # the woken worker was cancelled: wake another one
            raise
        finally:
            if future in self._idle:
                self._idle.remove(future)

    def _wake_one(self) -> None:
        while self._idle:
            future = self._idle.popleft()
            if not future.done():
                future.set_result(None)
                return
