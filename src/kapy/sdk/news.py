"""Count changes that watches deliver, per object."""

from __future__ import annotations

from collections.abc import Iterable

from kapy.engine.cache import Change
from kapy.engine.controller import Mapper
from kapy.kube import Key


class News:
    """Counts changes by the key of the object that they concern."""

    def __init__(self) -> None:
        self._news: dict[Key, int] = {}

    def noting(self, keys: Mapper) -> Mapper:
        """Wrap a mapper so that each key it returns is also marked as changed."""

        def noted(change: Change) -> Iterable[Key]:
            return self.told(keys(change))

        return noted

    def told(self, keys: Iterable[Key]) -> Iterable[Key]:
        """Return the keys after marking them as changed."""
        found = tuple(keys)
        for key in found:
            self._news[key] = self.news(key) + 1
        return found

    def news(self, key: Key) -> int:
        """Return the number of changes: to be read before a reconcile reads anything."""
        return self._news.get(key, 0)

    def forget(self, key: Key) -> None:
        """Forget a deleted object."""
        self._news.pop(key, None)
