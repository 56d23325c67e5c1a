"""Computations of large requests, run in threads to keep the event loop responsive.

Python runs one thread at a time, so this makes nothing faster, but the event loop gets its turn
every few milliseconds. The number of threads is limited. Each user has one place, so that a request
waits for at most one computation of each other user.
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

from kapy.apiserver.auth.authorization import SUPERUSERS
from kapy.kube.errors import TooManyRequests
from kapy.kube.http import User

Result = TypeVar("Result")

LARGE: Final = 32 * 1024
"""The size in bytes of JSON above which a request counts as large."""

LARGE_YAML: Final = 8 * 1024
"""The same limit for YAML, which takes much longer."""

PLACES: Final = 2
"""The most concurrent computations."""

WAITING: Final = 32
"""The most waiting computations of one user; further requests are refused."""

SWITCH_SECONDS: Final = 0.001
"""The GIL switch interval while a thread decodes a large body (Python's default: 5 ms)."""

OLD: Final = 500
"""The generation-2 threshold of the garbage collector meanwhile. A full collection stops every
thread and finds nothing in a large document, which may have a million objects.
"""


class LargeRequestQueue:
    """The threads and the queue for large requests of one server."""

    __slots__ = ("_before", "_busy", "_threads", "_waiting")

    def __init__(self) -> None:
        self._threads: ThreadPoolExecutor | None = None
        self._busy: set[str] = set()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._before: tuple[float, tuple[int, int, int]] = (0.0, (0, 0, 0))

    async def run(self, user: User, work: Callable[[], Result]) -> Result:
        """Run `work` in a thread and return its result; it must not change shared state.

        Raises TooManyRequests if too many computations of the user are waiting.
        """
        await self._enter(user)
        if self._threads is None:
            self._threads = ThreadPoolExecutor(PLACES, "large-request")
        loop = asyncio.get_running_loop()
        working = loop.run_in_executor(self._threads, copy_context().run, work)
        # The slot is free when the thread ends, even if the client has disconnected before.
        working.add_done_callback(lambda done: self._on_done(user, done))
        try:
            return await asyncio.shield(working)
        finally:
            del working  # breaks a reference cycle between the failure and this frame

    def _on_done(self, user: User, done: asyncio.Future[Any]) -> None:
        if not done.cancelled():
            done.exception()  # retrieve the error: the client may have disconnected
        self._release(user)

    async def _enter(self, user: User) -> None:
        queue = self._waiting.get(user.name)
        if queue is None and user.name not in self._busy and len(self._busy) < PLACES:
            self._acquire(user.name)
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
                self._release(user)
            raise

    def _acquire(self, name: str) -> None:
        if not self._busy:
            self._before = sys.getswitchinterval(), gc.get_threshold()
            sys.setswitchinterval(min(self._before[0], SWITCH_SECONDS))
            gc.set_threshold(*self._before[1][:2], OLD)
        self._busy.add(name)

    def _release(self, user: User) -> None:
        self._busy.discard(user.name)
        if not self._busy:
            sys.setswitchinterval(self._before[0])
            gc.set_threshold(*self._before[1])
        queue = self._waiting.pop(user.name, None)
        if queue:
            self._waiting[user.name] = queue  # the user moves behind all others
        for name in list(self._waiting):
            if len(self._busy) >= PLACES:
                return
            if name not in self._busy:
                self._start_next(name)

    def _start_next(self, name: str) -> None:
        """Start a user's first waiting computation; the user's others queue behind other users."""
        queue = self._waiting.pop(name)
        while queue:
            turn = queue.popleft()
            if not turn.done():
                self._acquire(name)
                turn.set_result(None)
                break
        if queue:
            self._waiting[name] = queue

    def close(self) -> None:
        """Start no further computations; running ones end by themselves."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._threads = None
