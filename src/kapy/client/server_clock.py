"""The time by the clock of an API server, which the `Date` headers of its answers tell.

An object's age is the time since a moment that the server wrote. A program whose own clock is wrong
by an hour would take a new object for one of an hour ago, and give up a Machine that has just been
created. By this clock it does not, and several programs agree about times that they write.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Final

from kapy._aio.clock import Clock
from kapy.client.intercept import Interceptor, probe_of
from kapy.kube.errors import KapyError
from kapy.kube.http import Reply, Request, Transport

TOLERANCE: Final = timedelta(seconds=5)
"""A smaller difference is left alone: dates have whole seconds, and servers cache their text."""
IMPLAUSIBLE: Final = timedelta(days=3653)
"""A larger difference is that of a date that means nothing."""
LOG_INTERVAL: Final = timedelta(minutes=1)
"""The time between two warnings, at least: servers behind one address may have other clocks."""
ASK_INTERVAL: Final = 10.0
"""Seconds after which the server is asked again for its time, if it did not answer."""
_SECOND: Final = timedelta(seconds=1)
_NO_ERROR: Final = timedelta()

log = logging.getLogger(__name__)


class ServerClock(Interceptor):
    """A transport that compares a clock with the dates of answers.

    error: what has to be added to the clock; zero while the difference is within TOLERANCE.
    """

    __slots__ = (
        "_asked",
        "_asking",
        "_clock",
        "_is_stepped",
        "_is_stopped",
        "_is_told",
        "_last",
        "_logged",
        "_seen",
        "error",
    )

    def __init__(self, transport: Transport, clock: Clock) -> None:
        super().__init__(transport)
        self._clock = clock
        self._last: tuple[str, datetime | None] = ("", None)
        self._is_told = False
        self._is_stepped = False
        self._is_stopped = False
        self._asked = -ASK_INTERVAL
        self._asking: asyncio.Task[None] | None = None
        self._logged: datetime | None = None
        self._seen: tuple[datetime, float] | None = None
        self.error = _NO_ERROR

    def now(self) -> datetime:
        """Return the present moment by the server's clock, also to a thread beside the event
        loop."""
        here = self._clock()
        if self._is_told and (loop := _running_loop()) is not None:
            self._undo_step(here, loop)
        return here + self.error

    def _undo_step(self, here: datetime, loop: asyncio.AbstractEventLoop) -> None:
        """Do without a step of the clock until the server tells whether it is right.

        The loop's clock takes no steps. After a sleep of the machine the step was right. The server
        is asked, since a program at rest may send no request for an hour.
        """
        steady = loop.time()
        if self._seen is not None:
            moment, before = self._seen
            step = here - moment - timedelta(seconds=steady - before)
            if abs(step) > TOLERANCE:
                self.error -= step
                self._is_stepped = True
        self._seen = here, steady
        if self._is_stepped:
            self.ask_again()

    def ask_again(self) -> None:
        """Ask the server for its time, if that was not done a moment ago: a moment that it wrote is
        still to come."""
        loop = asyncio.get_running_loop()
        if loop.time() >= self._asked + ASK_INTERVAL and not self._is_stopped:
            self._asked = loop.time()
            self._asking = loop.create_task(self._ask())

    async def _ask(self) -> None:
        with suppress(KapyError):
            await self(Request("GET", "/version"))

    async def stop(self) -> None:
        """Cancel a request for the time, and send no more of them: the client ends."""
        self._is_stopped = True
        asking, self._asking = self._asking, None
        if asking is not None:
            asking.cancel()
            await asyncio.wait([asking])

    async def aclose(self) -> None:
        """Stop, and close the wrapped transport."""
        await self.stop()
        await super().aclose()

    async def __call__(self, request: Request) -> Reply:
        return await self._send(self.transport, request)

    async def probe(self, request: Request) -> Reply:
        """Send a probe; its answer tells the time, too."""
        return await self._send(probe_of(self.transport), request)

    async def _send(self, way: Transport, request: Request) -> Reply:
        sent = self._clock()
        reply = await way(request)
        text = reply.headers.get("date")
        if text:
            self._compare(text, sent, self._clock())
        return reply

    def _compare(self, text: str, sent: datetime, received: datetime) -> None:
        """Correct the clock if a date is not one between the request and the answer."""
        date = self._parse(text)
        if date is None or received < sent:  # the clock went back meanwhile: the next answer tells
            return
        least, most = date - received, date - sent + _SECOND
        if abs(least) > IMPLAUSIBLE:
            return
        self._is_told, self._is_stepped = True, False
        if least - TOLERANCE <= self.error <= most + TOLERANCE:
            return
        is_right = least - TOLERANCE <= _NO_ERROR <= most + TOLERANCE
        self.error = _NO_ERROR if is_right else min(max(_NO_ERROR, least), most)
        if (loop := _running_loop()) is not None:
            self._seen = received, loop.time()  # the correction includes all steps of the clock
        self._log(received)

    def _log(self, now: datetime) -> None:
        if self._logged is not None and abs(now - self._logged) < LOG_INTERVAL:
            return
        self._logged = now
        log.warning(
            "the clock here is %.0f s ahead of that of %s, by which ages are measured",
            -self.error.total_seconds(),
            self.host,
        )

    def _parse(self, text: str) -> datetime | None:
        """Return the moment of a date; None if it is none."""
        if text != self._last[0]:
            self._last = (text, _moment(text))
        return self._last[1]


def _moment(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError, IndexError, TypeError):
        return None


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
