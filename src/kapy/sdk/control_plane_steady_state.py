"""Skip reconciles of control planes that have nothing to do, until something changes.

A reconcile that took every step and found nothing to do need not be repeated, as long as no watch
delivered a change. Facts that cannot be watched, such as expiry, limit the time between reconciles.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Generic, NamedTuple, TypeVar

from kapy.engine.cache import Change
from kapy.engine.controller import Mapper
from kapy.kube import Key
from kapy.kube.renamed import RenamedMember


class ChangeCounter:
    """Counts changes by the key of the object that they concern."""

    noting = RenamedMember("count_changes")
    told = RenamedMember("increment")
    news = RenamedMember("count")

    def __init__(self) -> None:
        self._counts: dict[Key, int] = {}

    def count_changes(self, keys: Mapper) -> Mapper:
        """Wrap a mapper so that each key it returns is also marked as changed."""

        def noted(change: Change) -> Iterable[Key]:
            return self.increment(keys(change))

        return noted

    def increment(self, keys: Iterable[Key]) -> Iterable[Key]:
        """Mark the keys as changed, and return them."""
        results = tuple(keys)
        for key in results:
            self._counts[key] = self.count(key) + 1
        return results

    def count(self, key: Key) -> int:
        """Return the number of changes of a key. Read it before a reconcile reads anything."""
        return self._counts.get(key, 0)

    def forget(self, key: Key) -> None:
        """Forget the changes of a deleted object."""
        self._counts.pop(key, None)


V = TypeVar("V")


class _State(NamedTuple, Generic[V]):
    changes: int
    expires_at: datetime
    value: V


class SteadyStateCache(ChangeCounter, Generic[V]):
    """Caches a value for each control plane that has nothing to do."""

    def __init__(self) -> None:
        super().__init__()
        self._states: dict[Key, _State[V]] = {}

    def get(self, key: Key, now: datetime) -> V | None:
        """Return the cached value; None if something has changed or the time has passed."""
        state = self._states.get(key)
        if state is None or state.changes != self.count(key) or state.expires_at <= now:
            return None
        return state.value

    def store(self, key: Key, count: int, value: V, expires_at: datetime) -> None:
        """Cache the value of a reconcile that found nothing to do. count: the number of changes
        before the reconcile read anything.
        """
        self._states[key] = _State(count, expires_at, value)

    def forget(self, key: Key) -> None:
        super().forget(key)
        self._states.pop(key, None)
