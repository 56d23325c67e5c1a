"""A handler that does not answer is left alone for a while, and so are those who wait for it.

    breaker.admit(key)       # raises Broken while it is left alone
    breaker.failed(key, why)
    breaker.answered()

After `PATIENCE` calls in a row that got no answer, calls fail at once for a second, then for two,
four … `LONGEST` seconds (with jitter). After that one of those who wait is woken and may try; when
it gets an answer, all others are woken, one after the other. Should who was woken not come (its
Cluster is gone), another one is woken a second later, then two, four …: somebody tries soon.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from random import Random
from typing import Final, Generic, TypeVar

from kapy.kube.errors import KapyError

PATIENCE: Final = 3
FIRST: Final = 1.0
LONGEST: Final = 30.0
APART: Final = 0.01
"""Seconds between two who are woken when an extension answers again."""
COMING: Final = 1.0
"""Seconds that who was woken has to try."""
K = TypeVar("K", bound=Hashable)


class Broken(KapyError):
    """A handler is left alone because it did not answer lately."""


class Breaker(Generic[K]):
    """The breaker of one handler. wake: is told who should try again."""

    def __init__(self, wake: Callable[[K], None], random: Random) -> None:
        self._wake = wake
        self._random = random
        self._waiting: dict[K, None] = {}
        self._failures = 0
        self._until = 0.0
        self._trying: K | None = None
        self._woken = 0
        self._next: asyncio.TimerHandle | None = None
        self._timers: set[asyncio.TimerHandle] = set()
        self._why = ""

    def admit(self, key: K) -> None:
        """Raises Broken when nobody should call now; who asked is woken later."""
        if self._failures < PATIENCE:
            return
        left = self._until - asyncio.get_running_loop().time()
        if left <= 0 and self._trying is None:
            self._trying = key
            return
        self._waiting[key] = None
        raise Broken(f"{self._why} (it is left alone until it answers, {LONGEST:g}s at most)")

    def answered(self) -> None:
        """A call got an answer, whatever it said."""
        self._failures, self._trying = 0, None
        waiting, self._waiting = self._waiting, {}
        for number, key in enumerate(waiting):
            self._later(APART * (number + 1), key)

    def failed(self, key: K, why: str) -> None:
        """A call got no answer."""
        now = asyncio.get_running_loop().time()
        self._why = why
        if self._failures >= PATIENCE:
            self._waiting[key] = None
            if self._until > now:
                return  # it was under way already when others gave up
        self._failures += 1
        self._trying = None
        if self._failures < PATIENCE:
            return
        self._waiting[key] = None
        hold = min(FIRST * 2 ** min(self._failures - PATIENCE, 16), LONGEST)
        self._until = now + hold * (0.75 + self._random.random() / 4)
        self._woken = 0
        self._try_in(self._until - now)

    def abandoned(self) -> None:
        """Who was let through was stopped before there was an answer or none."""
        self._trying = None

    def close(self) -> None:
        """Wake nobody any more."""
        if self._next is not None:
            self._next.cancel()
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()

    def _later(self, seconds: float, key: K) -> None:
        def due() -> None:
            self._timers.discard(timer)
            self._wake(key)

        timer = asyncio.get_running_loop().call_later(seconds, due)
        self._timers.add(timer)

    def _try_in(self, seconds: float) -> None:
        """A timer, because nothing tells that a server answers again, or that a Cluster is gone."""
        if self._next is not None:
            self._next.cancel()
        self._next = asyncio.get_running_loop().call_later(seconds, self._wake_some)

    def _wake_some(self) -> None:
        """Have one of those who wait try; while nobody comes, as many again as were woken."""
        if self._failures < PATIENCE or not self._waiting:
            return
        if self._trying is None:
            for key in list(self._waiting)[: max(self._woken, 1)]:
                del self._waiting[key]
                self._woken += 1
                self._wake(key)
        self._try_in(COMING)
