"""The priority of a condition in a merge."""

from __future__ import annotations

from collections.abc import Callable, Collection
from enum import IntEnum
from typing import TypeAlias

from kapy.api.condition import Condition
from kapy.conditions.lookup import FALSE, TRUE


class Priority(IntEnum):
    """The lowest number comes first, and decides the status of the result."""

    ISSUE = 0
    UNKNOWN = 1
    INFO = 2


Prioritise: TypeAlias = Callable[[Condition], Priority]


def by_polarity(negative: Collection[str] = ()) -> Prioritise:
    """Return the default priorities: False is an issue and True is good, reversed for the types in
    `negative` (`Deleting`, `Paused` …); Unknown is unknown.
    """
    turned = frozenset(negative)

    def priority(condition: Condition) -> Priority:
        bad = TRUE if condition.type in turned else FALSE
        if condition.status == bad:
            return Priority.ISSUE
        return Priority.INFO if condition.status in (TRUE, FALSE) else Priority.UNKNOWN

    return priority
