"""Handles stop requests: Ctrl-C and SIGTERM."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from types import FrameType
from typing import Final

from kapy.kube.errors import KapyError

BLOCKED_LOOP_SECONDS: Final = 5.0
"""Seconds in which the event loop must hear of a signal."""


class StartCancelled(KapyError):
    """Ctrl-C or SIGTERM came before the start was complete."""


class StopRequest:
    """A request to stop the program, after Ctrl-C or SIGTERM."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self._beginning: asyncio.Timeout | None = None

    def set(self) -> None:
        """Request a stop, and cancel a start in progress. A further request changes nothing."""
        self._event.set()
        beginning, self._beginning = self._beginning, None
        if beginning is not None:
            beginning.reschedule(asyncio.get_running_loop().time())

    @property
    def is_set(self) -> bool:
        """Whether a stop was requested."""
        return self._event.is_set()

    async def wait(self) -> None:
        """Wait for a stop request."""
        await self._event.wait()

    @asynccontextmanager
    async def start(self, description: str) -> AsyncIterator[Callable[[], None]]:
        """Start something in this context, and call the yielded function when it is ready.

        Raises StartCancelled if a stop is requested before; after that, `wait` returns on a
        request.
        """
        limit = self._beginning = asyncio.timeout(None)
        try:
            async with limit:
                if self._event.is_set():
                    self.set()
                yield self._is_ready
        except TimeoutError:
            if not limit.expired():
                raise
            raise StartCancelled(f"stopped before {description} was ready") from None
        finally:
            self._beginning = None

    def _is_ready(self) -> None:
        self._beginning = None


@contextmanager
def handle_stop_signals() -> Iterator[StopRequest]:
    """Turn Ctrl-C and SIGTERM into stop requests, instead of ending the process.

    A second signal ends the process, and so does the first one if the event loop does not react: a
    provider's code may block it.
    """
    loop = asyncio.get_running_loop()
    stop = StopRequest()
    numbers = (signal.SIGINT, signal.SIGTERM)

    def hear(_number: int, _frame: FrameType | None) -> None:
        for item in numbers:
            signal.signal(item, _end_process)
        loop.call_soon_threadsafe(stop.set)
        deaf = threading.Timer(BLOCKED_LOOP_SECONDS, _end_if_blocked, (stop,))
        deaf.daemon = True
        deaf.start()

    before = {number: signal.signal(number, hear) for number in numbers}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end_if_blocked(stop: StopRequest) -> None:
    if not stop.is_set:
        os.write(2, b"Error: something keeps this process busy, so that it cannot stop in order\n")
        os._exit(1)


def _end_process(number: int, _: FrameType | None) -> None:
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
