"""Server-sent events: they tell an open page that its content has changed, so that it loads the
content again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from typing import Final, TypeAlias

from kapy.ui.web import EVENTS, WebResponse

LEAST_PAUSE: Final = 0.1
"""Seconds between two events at least: a rollout changes many objects at once."""
LONGEST_PAUSE: Final = 10.0
PAUSES: Final = 5.0
"""Times that the pause is as long as the last page took: the share of the time that pages cost."""
HEARTBEAT: Final = 15.0
"""Seconds after which a browser hears at the latest that the connection is alive."""

CHANGE: Final = b"event: change\ndata: 1\n\n"


async def _no_version() -> None:
    """Return None as the version of a page without one: each signal counts as a change."""


class Subscription:
    """Signals changes to one open page.

    version: returns the version of the page's content; a signal without a new version is ignored.
    last: the version on the page, None if unknown: then the first wait ends at once. changed: set
    by each signal. is_ended: no more signals follow.
    """

    def __init__(
        self, version: Callable[[], Awaitable[object]] = _no_version, last: object = None
    ) -> None:
        self.changed = asyncio.Event()
        self.changed.set()  # the page may be outdated before its stream begins
        self.is_ended = False
        self._version = version
        self._last = last

    def end(self) -> None:
        """End the subscription: no more signals follow."""
        self.is_ended = True
        self.changed.set()

    async def wait(self) -> None:
        """Wait for a new version since the last wait."""
        while True:
            await self.changed.wait()
            self.changed.clear()
            last, self._last = self._last, await self._version()
            if self.is_ended or self._last is None or self._last != last:
                return


def pause_after(seconds: float) -> float:
    """Return the pause after a page that took some seconds."""
    return min(max(PAUSES * seconds, LEAST_PAUSE), LONGEST_PAUSE)


Subscribe: TypeAlias = Callable[[], AbstractAsyncContextManager[Subscription]]


def change_events(subscribe: Subscribe, seconds: Callable[[], float]) -> WebResponse:
    """Return a stream with an event for each change; the subscription ends with the stream.

    seconds: returns how long it took to render the last change.
    """
    return WebResponse(kind=EVENTS, stream=_events(subscribe, seconds))


async def _events(
    subscribe: Subscribe, seconds: Callable[[], float]
) -> AsyncGenerator[bytes, None]:
    yield b"retry: 1000\n\n"
    async with subscribe() as subscription:
        while not subscription.is_ended:
            is_change = False
            with suppress(TimeoutError):
                async with asyncio.timeout(HEARTBEAT):
                    await subscription.wait()
                    is_change = True
            yield CHANGE if is_change else b": alive\n\n"
            if is_change:
                await asyncio.sleep(pause_after(seconds()))
