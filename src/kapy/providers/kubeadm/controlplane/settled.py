"""Skips reconciles of control planes that are in a steady state.

A reconcile that took every step and found nothing to do need not be repeated until a watch reports
a change. State that cannot be watched (etcd, the clock) limits its validity.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from kapy.kube import Key
from kapy.sdk import ChangeCounter, Result, requeue

LOOK_ANYWAY: Final = timedelta(minutes=10)
"""How long nobody looks when nothing happens (upstream's default sync period)."""


@dataclass(frozen=True, slots=True)
class _Mark:
    news: int
    until: datetime
    because: str


class Settled(ChangeCounter):
    """The control planes in a steady state."""

    def __init__(self) -> None:
        super().__init__()
        self._marks: dict[Key, _Mark] = {}

    def settle(self, key: Key, news: int, wake: Result, now: datetime) -> None:
        """Record that nothing is to be done, as of `news`, until `wake` at the latest."""
        if wake.after is not None:
            self._marks[key] = _Mark(news, now + wake.after, wake.reason)

    def rest(self, key: Key, now: datetime) -> Result | None:
        """When to reconcile again if the state is steady; None: reconcile now."""
        mark = self._marks.get(key)
        if mark is None or mark.news != self.count(key) or mark.until <= now:
            return None
        return requeue(after=mark.until - now, because=mark.because)

    def forget(self, key: Key) -> None:
        """The control plane is gone."""
        super().forget(key)
        self._marks.pop(key, None)
