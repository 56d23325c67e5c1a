"""What a status was computed from, so that it is not computed again from the same.

Most looks at an object find nothing new: a safety net's, or one that somebody else's news caused
for nothing. Statuses are pure functions of what was read, and what is read comes from caches that
hand out the same document until it changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import NamedTuple

from kapy.kube import Key


class Inputs(NamedTuple):
    """objects: shared documents (or what was decoded of them once for all), told apart by their
    identity; facts: all else, told apart by its value."""

    objects: Sequence[object]
    facts: tuple[object, ...] = ()

    def are(self, others: Inputs) -> bool:
        """Whether both are the same."""
        mine, theirs = self.objects, others.objects
        return (
            len(mine) == len(theirs) and self.facts == others.facts and all(map(is_, mine, theirs))
        )


class Computed:
    """By object: the inputs from which its status came out as it was written already, and nothing
    of which changes with time alone."""

    def __init__(self) -> None:
        self._known: dict[Key, Inputs] = {}

    def from_same(self, key: Key, inputs: Inputs | None) -> bool:
        """Whether the status would come out as it is. inputs: None where it may never be said."""
        known = self._known.get(key)
        return known is not None and inputs is not None and known.are(inputs)

    def keep(self, key: Key, inputs: Inputs) -> None:
        """The status is what comes of these inputs."""
        self._known[key] = inputs

    def forget(self, key: Key) -> None:
        """The object is gone."""
        self._known.pop(key, None)
