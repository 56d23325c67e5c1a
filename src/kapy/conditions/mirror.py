"""Mirror a condition of one object on another."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from kapy.api.condition import Condition
from kapy.api.names import ConditionType, Reason
from kapy.api.patterns import REASON
from kapy.conditions.foreign import NO_REASON_REPORTED, UnreadableConditions, foreign_conditions
from kapy.conditions.lookup import NOT_YET_REPORTED, TRUE, from_bool, get, unknown
from kapy.kube import Document

LONGEST_REASON: Final = 1024
_REASON: Final = re.compile(REASON)


class Fallback(NamedTuple):
    """The mirrored condition if the source does not report one."""

    status: str
    reason: str
    message: str = ""


def mirror(
    conditions: Iterable[Condition],
    source: str,
    *,
    target: str = "",
    fallback: Fallback | None = None,
) -> Condition:
    """Return the condition `source` of an object's conditions as condition `target` (or `source`).

    It keeps the source's transition time. Without source and fallback it is Unknown.
    """
    condition = get(conditions, source)
    if condition is not None:
        return Condition(
            type=target or source,
            status=condition.status,
            reason=condition.reason,
            message=condition.message,
            last_transition_time=condition.last_transition_time,
        )
    if fallback is not None:
        return Condition(
            type=target or source,
            status=fallback.status,
            reason=fallback.reason,
            message=fallback.message,
        )
    message = f"Condition {source} not yet reported"
    return unknown(target or source, NOT_YET_REPORTED, message)


def mirror_foreign(
    document: Document, source: str, *, target: str = "", fallback: Fallback | None = None
) -> Condition:
    """Mirror a condition of a provider's object as `mirror` does. Raises UnreadableConditions.

    A reason that the schema does not allow is unreadable: the server would refuse the whole status
    with it.
    """
    condition = mirror(foreign_conditions(document), source, target=target, fallback=fallback)
    if len(condition.reason) > LONGEST_REASON or not _REASON.fullmatch(condition.reason):
        raise UnreadableConditions(
            f"the reason of the {source} condition of {document.get('kind')} must be one word of "
            f'at most {LONGEST_REASON} characters ({REASON}), and is "{condition.reason[:100]}"'
        )
    return condition


def mirror_ready(document: Document, target: str, *, done: bool, field: str) -> Condition:
    """Return the Ready condition of a provider's object as condition `target` of its owner.

    done: the state to report if there are no conditions, from `field`.
    """
    kind = document.get("kind", "")
    reason = Reason.READY if done else Reason.NOT_READY
    fallback = Fallback(from_bool(done), reason, "" if done else f"{kind} {field} is false")
    try:
        foreign = mirror_foreign(document, ConditionType.READY, target=target, fallback=fallback)
    except UnreadableConditions as error:
        return unknown(target, Reason.INVALID_CONDITION_REPORTED, str(error))
    if foreign.reason == NO_REASON_REPORTED and foreign.status == TRUE:
        foreign.reason = Reason.READY
    return foreign
