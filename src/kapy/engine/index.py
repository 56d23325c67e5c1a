"""Objects by what they say: labels, owners, references, whatever a function reads of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from kapy.kube import Document, Key

IndexValues = Callable[[Document], Iterable[str]]
"""The values under which an object is found; the same for the same document, always."""


class Index:
    """Keys by value."""

    __slots__ = ("_keys", "_values")

    def __init__(self, values: IndexValues) -> None:
        self._values = values
        self._keys: dict[str, set[Key]] = {}

    def keys(self, value: str) -> Sequence[Key]:
        """The keys that have `value`, in order."""
        keys = self._keys.get(value)
        if not keys:
            return ()
        return list(keys) if len(keys) == 1 else sorted(keys)

    def change(self, key: Key, old: Document | None, new: Document | None) -> None:
        """An object came, changed or went."""
        before = () if old is None else tuple(self._values(old))
        after = () if new is None else tuple(self._values(new))
        if before == after:
            return
        for value in before:
            keys = self._keys.get(value)
            if keys is not None:
                keys.discard(key)
                if not keys:
                    del self._keys[value]
        for value in after:
            self._keys.setdefault(value, set()).add(key)
