"""Control planes of Machines with which everything is in order, until something happens.

A look that took every step and found nothing to do is as good as the next one, as long as no watch
told anything in between, and the provider sees what it saw.
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
    """order: what the provider was asked with. said: its answer. wake: when to look again whatever
    it answers. since: when that was."""

    order: MachinesOrder[Any]
    said: ControlPlaneSeen
    wake: Result
    since: datetime

    def left(self, now: datetime) -> Result:
        """When to look again, from now on."""
        asked = requeue_if(after=self.said.look_again, because=self.said.because)
        if self.wake.after is None:
            return asked
        after = self.since + self.wake.after - now
        return requeue(after=after, because=self.wake.reason).earlier_of(asked)

    def until(self) -> datetime:
        """When it is over."""
        return self.since + min(LONGEST, self.wake.after or LONGEST)


class Rests(News):
    """Which control planes rest."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        super().__init__()
        self._clock = clock
        self._begun: dict[Key, int] = {}
        self._rests: dict[Key, tuple[int, Rest]] = {}

    def begin(self, key: Key) -> Rest | None:
        """A look begins, before it reads anything; the rest in which nothing has happened."""
        self._begun[key] = self.news(key)
        news, rest = self._rests.get(key, (-1, None))
        if rest is None or news != self._begun[key] or rest.until() <= self._clock():
            return None
        return rest

    def settle(self, order: MachinesOrder[Any], said: ControlPlaneSeen, wake: Result) -> None:
        """The look found nothing to do."""
        rest = Rest(order, said, wake, self._clock())
        self._rests[order.key] = self._begun[order.key], rest

    def forget(self, key: Key) -> None:
        super().forget(key)
        self._begun.pop(key, None)
        self._rests.pop(key, None)
