"""Index objects by values that a function computes: labels, owners, references and so on."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Sequence

from kapy.kube import Document, Key

IndexValues = Callable[[Document], Iterable[str]]
"""The values under which an object is found; the same for the same document, always."""


class Index:
    """Keys by value, in order."""

    __slots__ = ("_keys", "_values")

    def __init__(self, values: IndexValues) -> None:
        self._values = values
        self._keys: dict[str, list[Key]] = {}

    def keys(self, value: str) -> Sequence[Key]:
        """Return the keys that have `value`, in order."""
        return tuple(self._keys.get(value, ()))

    def change(self, key: Key, old: Document | None, new: Document | None) -> None:
        """Update the index for an object that was added, changed or deleted."""
        before = () if old is None else tuple(self._values(old))
        after = () if new is None else tuple(self._values(new))
        if before == after:
            return
        for value in set(before):
            keys = self._keys[value]
            del keys[bisect_left(keys, key)]
            if not keys:
                del self._keys[value]
        for value in set(after):
            insort(self._keys.setdefault(value, []), key)
