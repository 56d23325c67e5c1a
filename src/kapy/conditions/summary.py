"""Summarize several conditions of one object into one."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kapy.api.condition import Condition
from kapy.conditions.change import Conditioned
from kapy.conditions.lookup import NOT_YET_REPORTED, unknown
from kapy.conditions.merge import CannotMerge, Merge, Merging, Operation
from kapy.conditions.owned import Owned, owner_of
from kapy.conditions.priority import by_polarity


def summary(
    obj: Conditioned,
    target: str,
    types: Sequence[str],
    *,
    negative: Collection[str] = (),
    ignore_if_missing: Collection[str] = (),
    overrides: Sequence[Condition] = (),
    merge: Merging | None = None,
) -> Condition:
    """Return the condition `target`, summarized from the object's conditions of `types` (most
    relevant first).

    A missing condition counts as Unknown, unless it is in `ignore_if_missing`. negative: the types
    for which True is bad (unless `merge` is given). overrides: conditions that replace the object's
    own ones of the same types. Raises CannotMerge.
    """
    if not types:
        raise CannotMerge("option ForConditionTypes not provided or empty")
    if target in types:
        raise CannotMerge(
            f"option ForConditionTypes cannot include {target} (target condition type)"
        )
    present = {condition.type: condition for condition in obj.status.conditions}
    instead = _overrides(overrides, present)
    owner = owner_of(obj)
    chosen = []
    for type_ in dict.fromkeys(types):
        if type_ in present:
            chosen.append(Owned(instead.get(type_, present[type_]), owner))
        elif type_ not in ignore_if_missing:
            missing = unknown(type_, NOT_YET_REPORTED, "Condition not yet reported")
            chosen.append(Owned(missing, owner))
    if not chosen:
        raise CannotMerge(
            "summary can't be performed when the list of conditions to be summarized is empty"
        )
    merged = (merge or Merge(priority=by_polarity(negative)))(Operation.SUMMARY, chosen, types)
    return Condition(
        type=target, status=merged.status, reason=merged.reason, message=merged.message
    )


def _overrides(
    overrides: Sequence[Condition], present: dict[str, Condition]
) -> dict[str, Condition]:
    instead: dict[str, Condition] = {}
    for override in overrides:
        if override.type in instead:
            raise CannotMerge(f"override condition {override.type} specified multiple times")
        if override.type not in present:
            raise CannotMerge(f"override condition {override.type} must exist in source object")
        instead[override.type] = override
    return instead
