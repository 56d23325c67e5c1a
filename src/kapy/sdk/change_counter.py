"""Count changes that watches deliver, per object."""

from __future__ import annotations

from collections.abc import Iterable

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
        """Return the keys after marking them as changed."""
        results = tuple(keys)
        for key in results:
            self._counts[key] = self.count(key) + 1
        return results

    def count(self, key: Key) -> int:
        """Return the number of changes: to be read before a reconcile reads anything."""
        return self._counts.get(key, 0)

    def forget(self, key: Key) -> None:
        """Forget a deleted object."""
        self._counts.pop(key, None)
