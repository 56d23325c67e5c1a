"""
An event loop whose clock jumps over idle waits.

When every task sleeps, time moves straight to the next timer, so a test of a
ten-hour back-off takes microseconds and still proves the order of events.
A loop with nothing scheduled and nothing to read is a deadlock, and says so.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, TypeVar

T = TypeVar("T")

PATIENCE = 2.0  # real seconds to wait for real I/O before calling it a deadlock


class Deadlock(RuntimeError):
    """All tasks wait, and neither a timer nor a task can wake one of them."""


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._now = 0.0
        super().__init__(_JumpingSelector(self))
        # A timer is due when it is less than this away. The usual nanosecond gets lost in a float
        # of more than half a year in seconds, and then no timer would ever be due again.
        self._clock_resolution = 1e-6

    def time(self) -> float:
        return self._now

    def jump(self, seconds: float) -> None:
        self._now += seconds

    def run_in_executor(  # type: ignore[override]
        self, _executor: Executor | None, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        """Run `func` at once: while a thread ran it, virtual time could jump ahead. As in a thread,
        it finds no running event loop.
        """
        future: asyncio.Future[T] = self.create_future()
        asyncio._set_running_loop(None)
        try:
            future.set_result(func(*args))
        except Exception as error:
            future.set_exception(error)
        finally:
            asyncio._set_running_loop(self)
        return future


class _JumpingSelector(selectors.DefaultSelector):
    def __init__(self, loop: VirtualTimeLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None:
            ready = super().select(PATIENCE)
            if not ready:
                raise Deadlock("no timer is set and no I/O is pending")
            return ready
        self._loop.jump(timeout)
        return ready
