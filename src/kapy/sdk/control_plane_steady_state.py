"""Skip reconciles of control planes that have nothing to do, until something changes.

A reconcile that took every step and found nothing to do need not be repeated, as long as no watch
delivered a change. Facts that cannot be watched, such as expiry, limit the time between reconciles.
"""

from __future__ import annotations

from datetime import datetime
from typing import Generic, NamedTuple, TypeVar

from kapy.kube import Key
from kapy.sdk.change_counter import ChangeCounter

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
