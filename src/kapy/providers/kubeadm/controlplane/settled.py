"""Control planes with which everything is in order, until something happens.

A reconcile that took every step and found nothing to do is as good as the next one, as long as no
watch told anything in between. What cannot be watched (etcd, the clock) gives such a reconcile its
end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from kapy.kube import Key
from kapy.sdk import Change, Result, requeue

LOOK_ANYWAY: Final = timedelta(minutes=10)
"""How long nobody looks when nothing happens (upstream's default sync period)."""


@dataclass(frozen=True, slots=True)
class _Mark:
    news: int
    until: datetime
    because: str


class Settled:
    """Which control planes are settled."""

    def __init__(self) -> None:
        self._news: dict[Key, int] = {}
        self._marks: dict[Key, _Mark] = {}

    def noting(self, keys: Callable[[Change], Iterable[Key]]) -> Callable[[Change], Iterable[Key]]:
        """As `keys`, the mapper of a watch; what it tells ends the rest of a control plane."""

        def noted(change: Change) -> Iterable[Key]:
            return self.told(keys(change))

        return noted

    def told(self, keys: Iterable[Key]) -> Iterable[Key]:
        """The keys again; something has happened to these control planes."""
        found = tuple(keys)
        for key in found:
            self._news[key] = self.news(key) + 1
        return found

    def news(self, key: Key) -> int:
        """How much has happened: to be read before a reconcile reads anything."""
        return self._news.get(key, 0)

    def settle(self, key: Key, news: int, wake: Result, now: datetime) -> None:
        """Nothing is to be done, as of `news`, until `wake` at the latest."""
        if wake.after is not None:
            self._marks[key] = _Mark(news, now + wake.after, wake.because)

    def rest(self, key: Key, now: datetime) -> Result | None:
        """When to come again if there is nothing to be done until then; None: do look."""
        mark = self._marks.get(key)
        if mark is None or mark.news != self.news(key) or mark.until <= now:
            return None
        return requeue(after=mark.until - now, because=mark.because)

    def forget(self, key: Key) -> None:
        """The control plane is gone."""
        self._news.pop(key, None)
        self._marks.pop(key, None)
