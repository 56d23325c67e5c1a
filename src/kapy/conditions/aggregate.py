"""Aggregate one condition of many objects into one condition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from kapy.api.condition import Condition
from kapy.conditions.change import Conditioned
from kapy.conditions.lookup import NOT_YET_REPORTED, get, unknown
from kapy.conditions.merge import CannotMerge, Merge, Merging, Operation
from kapy.conditions.owned import Owned, owner_of
from kapy.conditions.priority import by_polarity

NOBODY: Final[Mapping[str, Sequence[str]]] = MappingProxyType({})


def aggregate(
    objects: Sequence[Conditioned],
    source: str,
    *,
    target: str = "",
    negative: bool = False,
    merge: Merging | None = None,
    others: Mapping[str, Sequence[str]] = NOBODY,
) -> Condition:
    """Return the condition `target` (or `source`), aggregated from the condition `source` of many
    objects.

    A missing condition counts as Unknown. negative: whether True is bad for the source and (unless
    `merge` is given) for the target. others: the names of further objects that report an equal
    condition, by the name of the object in `objects` that represents them. Raises CannotMerge if
    there is no object.
    """
    if not objects:
        raise CannotMerge("sourceObjs can't be empty")
    if merge is None:
        merge = Merge(priority=by_polarity((source,) if negative else ()), positive=not negative)
    chosen = []
    for obj in objects:
        condition = get(obj.status.conditions, source) or unknown(
            source, NOT_YET_REPORTED, f"Condition {source} not yet reported"
        )
        chosen.append(Owned(condition, owner_of(obj), others.get(obj.metadata.name, ())))
    merged = merge(Operation.AGGREGATE, chosen, (source,))
    return Condition(
        type=target or source, status=merged.status, reason=merged.reason, message=merged.message
    )
