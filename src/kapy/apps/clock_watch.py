"""Detects jumps of the machine's clock, since the last run or while the plane runs.

Certificates, tokens and conditions depend on the time of day. A jump is only reported: which of the
two times was right, only a person knows.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final, NoReturn

from kapy._aio.clock import Clock

_log = logging.getLogger(__name__)

CHECK_SECONDS: Final = 30.0
"""The interval of comparisons of both clocks. A timer, because a change of a clock is no event."""
TOLERANCE: Final = timedelta(seconds=10)
"""A larger difference between two comparisons counts as a jump: time servers correct less."""
MAX_BACKWARD: Final = timedelta(minutes=1)
MAX_FORWARD: Final = timedelta(days=90)
"""How much earlier and later than the last write a plane may start without a report."""

Steady = Callable[[], float]
"""Returns the seconds of a clock that cannot be set."""


def steady_clock() -> float:
    """Return a monotonic clock; if the system has one, it also counts time while the machine
    sleeps.
    """
    boot_time = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot_time is None else time.clock_gettime(boot_time)


class ClockWatch:
    """Reports jumps of `clock`. remark: the last report, "" for none. callbacks: called with
    each report. steady: a steady clock, by default the event loop's."""

    def __init__(self, clock: Clock, steady: Steady | None = None) -> None:
        self.remark = ""
        self.callbacks: list[Callable[[str], None]] = []
        self._clock = clock
        self._steady = steady or asyncio.get_running_loop().time
        self._last = self._now()

    def _now(self) -> tuple[float, datetime]:
        return self._steady(), self._clock()

    def compare(self, last_write: datetime | None) -> None:
        """Compare the clock with the time of the last write before this start, if there is one."""
        if last_write is None:
            return
        now = self._clock()
        passed = now - last_write
        if passed < -MAX_BACKWARD:
            self._report(
                f"the clock says {now:%F %T} UTC, which is {_text(-passed)} before the last write "
                f"({last_write:%F %T}): it was wrong then, or is wrong now"
            )
        elif passed > MAX_FORWARD:
            self._report(
                f"the clock says {now:%F %T} UTC, which is {_text(passed)} after the last write "
                f"({last_write:%F %T}): see that the clock is right"
            )

    async def run(self) -> NoReturn:
        """Check the clocks regularly until cancelled."""
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            self.check()

    def check(self) -> None:
        """Report how far the clock jumped since the last check."""
        (steady, day), self._last = self._last, self._now()
        jump = (self._last[1] - day) - timedelta(seconds=self._last[0] - steady)
        if abs(jump) >= TOLERANCE:
            way = "ahead" if jump > timedelta() else "back"
            self._report(f"the clock was set {_text(abs(jump))} {way}: {self._last[1]:%F %T} UTC")

    def _report(self, description: str) -> None:
        self.remark = description
        _log.warning("%s", description)
        for item in self.callbacks:
            item(description)


def _text(duration: timedelta) -> str:
    if duration.days >= 2:
        return f"{duration.days} days"
    seconds = round(duration.total_seconds())
    return f"{seconds // 3600} h {seconds % 3600 // 60} min {seconds % 60} s"
