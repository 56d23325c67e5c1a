"""The keys of objects that a program has not used for a while, found by repeated passes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import takewhile
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class IdleKeys(Generic[K]):
    """Remembers in which pass each key was last marked.

    It remembers nothing before the first pass: a program that makes no pass pays nothing for it.
    """

    __slots__ = ("_marked", "_pass")

    def __init__(self) -> None:
        self._marked: dict[K, int] = {}  # in the order of the passes
        self._pass = 0

    def __len__(self) -> int:
        return len(self._marked)

    def mark(self, key: K) -> None:
        """Remember that an object has just been written or read."""
        if self._pass:
            self._marked.pop(key, None)
            self._marked[key] = self._pass

    def forget(self, key: K) -> None:
        """Forget the key of a deleted object."""
        self._marked.pop(key, None)

    def next_pass(self, everything: Callable[[], Iterable[K]]) -> Iterator[K]:
        """Start a new pass: yield the keys without a mark since the previous pass, and forget them.

        everything: returns the keys of all objects before the first pass, which yields none.
        """
        if not self._pass:
            self._marked = dict.fromkeys(everything(), 0)
        self._pass += 1
        latest = self._pass - 2
        idle = list(takewhile(lambda key: self._marked[key] <= latest, self._marked))
        for key in idle:
            if self._marked.get(key, self._pass) <= latest:  # it may be marked meanwhile
                del self._marked[key]
                yield key
