"""Whether watches have told anything of objects since somebody looked at them."""

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
        """As `keys`, the mapper of a watch; what it tells is news."""

        def noted(change: Change) -> Iterable[Key]:
            return self.told(keys(change))

        return noted

    def told(self, keys: Iterable[Key]) -> Iterable[Key]:
        """The keys again; something has happened to them."""
        found = tuple(keys)
        for key in found:
            self._news[key] = self.news(key) + 1
        return found

    def news(self, key: Key) -> int:
        """How much has happened: to be read before a reconcile reads anything."""
        return self._news.get(key, 0)

    def forget(self, key: Key) -> None:
        """It is gone."""
        self._news.pop(key, None)
