"""A circuit breaker for a handler that does not answer.

    breaker.admit(key)       # raises CircuitOpen while the circuit is open
    breaker.record_failure(key, why)
    breaker.record_answer()

After `FAILURE_THRESHOLD` calls in a row without an answer, calls fail at once for a second, then
for two, four … `LONGEST` seconds (with jitter). After that one of the waiting keys is woken and may
try; when it gets an answer, all others are woken one after the other. If the woken key does not
come (its Cluster was deleted), another one is woken a second later, then two, four …, so that
somebody tries soon.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from random import Random
from typing import Final, Generic, TypeVar

from kapy.kube.errors import KapyError

FAILURE_THRESHOLD: Final = 3
FIRST: Final = 1.0
LONGEST: Final = 30.0
WAKE_INTERVAL: Final = 0.01
"""Seconds between two who are woken when an extension answers again."""
RETRY_GRACE: Final = 1.0
"""Seconds that who was woken has to try."""
K = TypeVar("K", bound=Hashable)


class CircuitOpen(KapyError):
    """The circuit of a handler is open because it did not answer."""


class CircuitBreaker(Generic[K]):
    """The circuit breaker of one handler, which blocks calls while the handler does not respond.
    wake: called with the key of a waiting caller that may try again.
    """

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
        """Raise CircuitOpen while the circuit is open; the key is woken later."""
        if self._failures < FAILURE_THRESHOLD:
            return
        remaining = self._until - asyncio.get_running_loop().time()
        if remaining <= 0 and self._trying is None:
            self._trying = key
            return
        self._waiting[key] = None
        raise CircuitOpen(f"{self._why} (it is left alone until it answers, {LONGEST:g}s at most)")

    def record_answer(self) -> None:
        """Record that a call got an answer, whatever its status."""
        self._failures, self._trying = 0, None
        waiting, self._waiting = self._waiting, {}
        for number, key in enumerate(waiting):
            self._later(WAKE_INTERVAL * (number + 1), key)

    def record_failure(self, key: K, why: str) -> None:
        """Record that a call got no answer."""
        now = asyncio.get_running_loop().time()
        self._why = why
        if self._failures >= FAILURE_THRESHOLD:
            self._waiting[key] = None
            if self._until > now:
                return  # it was under way already when others gave up
        self._failures += 1
        self._trying = None
        if self._failures < FAILURE_THRESHOLD:
            return
        self._waiting[key] = None
        hold = min(FIRST * 2 ** min(self._failures - FAILURE_THRESHOLD, 16), LONGEST)
        self._until = now + hold * (0.75 + self._random.random() / 4)
        self._woken = 0
        self._try_in(self._until - now)

    def record_abort(self) -> None:
        """Record that an admitted call was cancelled without a result."""
        self._trying = None

    def close(self) -> None:
        """Cancel all timers: no key is woken any more."""
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
        """Schedule the next try by a timer: there is no event for a server's recovery."""
        if self._next is not None:
            self._next.cancel()
        self._next = asyncio.get_running_loop().call_later(seconds, self._wake_some)

    def _wake_some(self) -> None:
        """Wake one waiting key. If no call follows, wake twice as many keys each time."""
        if self._failures < FAILURE_THRESHOLD or not self._waiting:
            return
        if self._trying is None:
            for key in list(self._waiting)[: max(self._woken, 1)]:
                del self._waiting[key]
                self._woken += 1
                self._wake(key)
        self._try_in(RETRY_GRACE)
