"""Skip reconciles of control planes of Machines that have nothing to do, until something changes.

A reconcile that took every step and found nothing to do need not be repeated, as long as no watch
delivered a change and the provider observes the same state.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from kapy.engine.result import Result, requeue, requeue_if
from kapy.kube import Key
from kapy.sdk.answers import ControlPlaneSeen
from kapy.sdk.control_plane_of_machines import MachinesOrder
from kapy.sdk.news import News

LONGEST: Final = timedelta(minutes=10)
"""What nobody watches (a Secret of a user's, without our label) is looked at again after that, as
soon as somebody asks for a look."""


@dataclass(frozen=True, slots=True)
class Rest:
    """The cached result of such a reconcile. order: the provider's input. said: its answer. wake:
    when to reconcile in any case. since: the time of the reconcile.
    """

    order: MachinesOrder[Any]
    said: ControlPlaneSeen
    wake: Result
    since: datetime

    def left(self, now: datetime) -> Result:
        """Return the remaining time until the next reconcile."""
        asked = requeue_if(after=self.said.look_again, because=self.said.because)
        if self.wake.after is None:
            return asked
        after = self.since + self.wake.after - now
        return requeue(after=after, because=self.wake.reason).earlier_of(asked)

    def until(self) -> datetime:
        """When the result expires."""
        return self.since + min(LONGEST, self.wake.after or LONGEST)


class Rests(News):
    """The cached results of all control planes."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        super().__init__()
        self._clock = clock
        self._begun: dict[Key, int] = {}
        self._rests: dict[Key, tuple[int, Rest]] = {}

    def begin(self, key: Key) -> Rest | None:
        """Start a reconcile before it reads anything; return the valid cached result."""
        self._begun[key] = self.news(key)
        news, rest = self._rests.get(key, (-1, None))
        if rest is None or news != self._begun[key] or rest.until() <= self._clock():
            return None
        return rest

    def settle(self, order: MachinesOrder[Any], said: ControlPlaneSeen, wake: Result) -> None:
        """Cache the result of a reconcile that found nothing to do."""
        rest = Rest(order, said, wake, self._clock())
        self._rests[order.key] = self._begun[order.key], rest

    def forget(self, key: Key) -> None:
        super().forget(key)
        self._begun.pop(key, None)
        self._rests.pop(key, None)
