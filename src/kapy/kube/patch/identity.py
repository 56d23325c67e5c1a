"""JSON values as dictionary keys, so that lists are compared and merged in linear time."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, Final

_TRUE: Final = (True,)
_FALSE: Final = (False,)


def identity(value: Any) -> Hashable:
    """Return a hashable key that is equal for two values exactly if `merge_patch.is_equal_json` is
    true: 1 equals 1.0, but not true.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return _TRUE if value else _FALSE
    if isinstance(value, dict):
        return frozenset((key, identity(item)) for key, item in value.items())
    if isinstance(value, list):
        return ("", *map(identity, value))
    number: Hashable = value
    return number


class ItemPositions:
    """The positions of the items of a list, by their merge key (`key`) or by their value.

    Items without the merge key have no position. Of equal items only the first one counts.
    """

    __slots__ = ("_at", "_key")

    def __init__(self, items: Iterable[Any], key: str) -> None:
        self._key = key
        self._at: dict[Hashable, int] = {}
        for at, item in enumerate(items):
            self.add(item, at)

    def add(self, item: Any, at: int) -> None:
        """Record the position of an item, unless an equal one is known."""
        if not (self._key and isinstance(item, dict) and self._key not in item):
            self._at.setdefault(self._identity(item), at)

    def discard(self, item: Any) -> None:
        """Remove an item and all equal ones."""
        self._at.pop(self._identity(item), None)

    def of(self, item: Any) -> int:
        """Return the position of the item that equals this one; -1 if there is none."""
        return self._at.get(self._identity(item), -1)

    def _identity(self, item: Any) -> Hashable:
        if self._key and isinstance(item, dict):
            return (self._key, identity(item.get(self._key)))
        return identity(item)
