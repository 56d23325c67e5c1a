"""One condition that says how many objects are, by one condition that each of them reports."""

from __future__ import annotations

from collections.abc import Sequence

from kapy.api.condition import Condition
from kapy.conditions.change import Conditioned
from kapy.conditions.lookup import NOT_YET_REPORTED, get, unknown
from kapy.conditions.merge import CannotMerge, Merge, Merging, Operation
from kapy.conditions.owned import Owned, owner_of
from kapy.conditions.priority import by_polarity


def aggregate(
    objects: Sequence[Conditioned],
    source: str,
    *,
    target: str = "",
    negative: bool = False,
    merge: Merging | None = None,
) -> Condition:
    """The condition `target` (or `source`) made of the condition `source` of many objects.

    An object that does not report it counts as Unknown. negative: True is bad, of the source and
    (without a `merge` of one's own) of the target. Raises CannotMerge when there is no object.
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
        chosen.append(Owned(condition, owner_of(obj)))
    merged = merge(Operation.AGGREGATE, chosen, (source,))
    return Condition(
        type=target or source, status=merged.status, reason=merged.reason, message=merged.message
    )
