"""Large requests: what they compute is done on threads, so that the event loop stays free.

Python runs one thread at a time, so threads make nothing faster. They let the event loop take its
turn every few milliseconds. How many work at once is bounded, and each user has one place, so that
nobody waits for more than one computation of each of the others.
"""

from __future__ import annotations

import asyncio
import gc
import sys
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, Final, TypeVar

from kapy.apiserver.authorization import SUPERUSERS
from kapy.kube.errors import TooManyRequests
from kapy.kube.http import User

Result = TypeVar("Result")

LARGE: Final = 32 * 1024
"""Bytes of JSON that are too many to be worked on between two other requests."""

LARGE_YAML: Final = 8 * 1024
"""The same of YAML, which takes many times as long."""

PLACES: Final = 2
"""Computations that are done at once."""

WAITING: Final = 32
"""Computations of one user that may wait for a place; beyond that requests are refused."""

SWITCH_SECONDS: Final = 0.001
"""How long a thread computes before the event loop has its turn (Python's own: 5 ms)."""

OLD: Final = 500
"""How rarely meanwhile all objects are looked through for cycles of garbage, which stops every
thread: a large document is a million objects of which none is garbage."""


class LargeWork:
    """The places for the computations of large requests of one server."""

    __slots__ = ("_before", "_busy", "_threads", "_waiting")

    def __init__(self) -> None:
        self._threads: ThreadPoolExecutor | None = None
        self._busy: set[str] = set()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._before: tuple[float, tuple[int, int, int]] = (0.0, (0, 0, 0))

    async def run(self, user: User, work: Callable[[], Result]) -> Result:
        """What `work` gives, which must not change anything that others see.

        Raises TooManyRequests when too many computations of the user wait already.
        """
        await self._enter(user)
        if self._threads is None:
            self._threads = ThreadPoolExecutor(PLACES, "large-request")
        loop = asyncio.get_running_loop()
        working = loop.run_in_executor(self._threads, copy_context().run, work)
        # A place is free when the thread is, though whoever asked may have gone before that.
        working.add_done_callback(lambda done: self._end(user, done))
        try:
            return await asyncio.shield(working)
        finally:
            del working  # a failure holds this frame, and would be held by it

    def _end(self, user: User, done: asyncio.Future[Any]) -> None:
        if not done.cancelled():
            done.exception()  # nobody may be waiting for it any more
        self._leave(user)

    async def _enter(self, user: User) -> None:
        queue = self._waiting.get(user.name)
        if queue is None and user.name not in self._busy and len(self._busy) < PLACES:
            self._take(user.name)
            return
        if queue is not None and len(queue) >= WAITING and SUPERUSERS not in user.groups:
            raise TooManyRequests(
                "Too many large requests, please try again later.",
                details={"retryAfterSeconds": 1},
                retry_after=1,
            )
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(user.name, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._leave(user)
            raise

    def _take(self, name: str) -> None:
        if not self._busy:
            self._before = sys.getswitchinterval(), gc.get_threshold()
            sys.setswitchinterval(min(self._before[0], SWITCH_SECONDS))
            gc.set_threshold(*self._before[1][:2], OLD)
        self._busy.add(name)

    def _leave(self, user: User) -> None:
        self._busy.discard(user.name)
        if not self._busy:
            sys.setswitchinterval(self._before[0])
            gc.set_threshold(*self._before[1])
        queue = self._waiting.pop(user.name, None)
        if queue:
            self._waiting[user.name] = queue  # after all others who wait
        for name in list(self._waiting):
            if len(self._busy) >= PLACES:
                return
            if name not in self._busy:
                self._let_in(name)

    def _let_in(self, name: str) -> None:
        """Give the first who waits of a user a place; the user's others come after all others."""
        queue = self._waiting.pop(name)
        while queue:
            turn = queue.popleft()
            if not turn.done():
                self._take(name)
                turn.set_result(None)
                break
        if queue:
            self._waiting[name] = queue

    def close(self) -> None:
        """Begin nothing more; what is being computed ends by itself."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._threads = None
