"""Decide which events are written, counted, aggregated or dropped (client-go's EventCorrelator).

* Equal events are one Event with a `count`.
* More than ten of one kind about one object within ten minutes, which differ only in their
  message, are aggregated into one whose message says so.
* One source may record 25 events about one object at once, then one every five minutes.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final, Generic, NamedTuple, TypeVar

V = TypeVar("V")

REMEMBERED: Final = 4096
SIMILAR: Final = 10
SIMILAR_WITHIN: Final = 600.0
BURST: Final = 25
REFILL: Final = 300.0  # seconds for one more event
COMBINED: Final = "(combined from similar events): "


class About(NamedTuple):
    """The identity of an Event for correlation: recorder, object, type and reason."""

    component: str
    kind: str
    namespace: str
    name: str
    uid: str
    api_version: str
    type: str
    reason: str


class Verdict(NamedTuple):
    """The result of correlation: the message to show, and the identity for the count."""

    message: str
    identity: tuple[About, str]


@dataclass(slots=True)
class _Bucket:
    tokens: float
    since: float


@dataclass(slots=True)
class _Similar:
    last: float
    messages: set[str] = field(default_factory=set)


class Lru(Generic[V]):
    """A map that keeps only its most recently used entries."""

    def __init__(self, size: int = REMEMBERED) -> None:
        self._size = size
        self._entries: OrderedDict[object, V] = OrderedDict()

    def get(self, key: object) -> V | None:
        """Return an entry and mark it as recently used; None if it is missing."""
        entry = self._entries.get(key)
        if entry is not None:
            self._entries.move_to_end(key)
        return entry

    def put(self, key: object, value: V) -> V:
        """Store an entry, dropping the least recently used one."""
        self._entries[key] = value
        if len(self._entries) > self._size:
            self._entries.popitem(last=False)
        return value

    def forget(self, key: object) -> None:
        """Remove an entry from the map."""
        self._entries.pop(key, None)


class Correlator:
    """Decides from earlier Events how an Event is recorded; times are seconds of any steady
    clock.
    """

    def __init__(self) -> None:
        self._buckets: Lru[_Bucket] = Lru()
        self._similar: Lru[_Similar] = Lru()

    def judge(self, about: About, message: str, now: float) -> Verdict | None:
        """Return the message and the identity to record for an Event; None drops it (flood
        control).
        """
        if not self._take_token(about, now):
            return None
        similar = self._similar.get(about)
        if similar is None or now - similar.last > SIMILAR_WITHIN:
            similar = self._similar.put(about, _Similar(now))
        similar.last = now
        similar.messages.add(message)
        if len(similar.messages) < SIMILAR:
            return Verdict(message, (about, message))
        if len(similar.messages) > SIMILAR:
            similar.messages.pop()  # the set only has to exceed the limit
        return Verdict(COMBINED + message, (about, COMBINED))

    def _take_token(self, about: About, now: float) -> bool:
        source = about[:6]
        bucket = self._buckets.get(source) or self._buckets.put(source, _Bucket(BURST, now))
        bucket.tokens = min(BURST, bucket.tokens + (now - bucket.since) / REFILL)
        bucket.since = now
        if bucket.tokens < 1:
            return False
        bucket.tokens -= 1
        return True
