"""Memoize statuses by their inputs, so that an unchanged status is not computed again.

Most reconciles find nothing new: they come from a resync, or from a change that does not matter.
Statuses are pure functions of what was read, and caches return the same document until it changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import NamedTuple

from kapy.kube import Key


class StatusInputs(NamedTuple):
    """The inputs from which a status is computed. objects: shared documents (or objects decoded
    from them once), compared by identity. facts: all other inputs, compared by value.
    """

    objects: Sequence[object]
    facts: tuple[object, ...] = ()

    def equal(self, others: StatusInputs) -> bool:
        """Return whether both inputs are the same."""
        mine, theirs = self.objects, others.objects
        return (
            len(mine) == len(theirs) and self.facts == others.facts and all(map(is_, mine, theirs))
        )


class StatusMemo:
    """Remembers, by object, the inputs of its stored status, if the status does not depend
    on time.
    """

    def __init__(self) -> None:
        self._known: dict[Key, StatusInputs] = {}

    def is_current(self, key: Key, inputs: StatusInputs | None) -> bool:
        """Return whether the status would be the same. inputs: None if the status must always be
        computed.
        """
        memo = self._known.get(key)
        return memo is not None and inputs is not None and memo.equal(inputs)

    def keep(self, key: Key, inputs: StatusInputs) -> None:
        """Remember that the stored status was computed from these inputs."""
        self._known[key] = inputs

    def forget(self, key: Key) -> None:
        """Forget a deleted object."""
        self._known.pop(key, None)
