"""Look up conditions in a list."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kapy.api.condition import Condition

TRUE: Final = "True"
FALSE: Final = "False"
UNKNOWN: Final = "Unknown"

NOT_YET_REPORTED: Final = "NotYetReported"


def get(conditions: Iterable[Condition], type_: str) -> Condition | None:
    """Return the condition of a type, None if it is not reported."""
    for condition in conditions:
        if condition.type == type_:
            return condition
    return None


def has(conditions: Iterable[Condition], type_: str) -> bool:
    """Return whether the condition is reported, with any status."""
    return get(conditions, type_) is not None


def is_true(conditions: Iterable[Condition], type_: str) -> bool:
    """Return whether the condition is reported with status True."""
    condition = get(conditions, type_)
    return condition is not None and condition.status == TRUE


def is_false(conditions: Iterable[Condition], type_: str) -> bool:
    """Return whether the condition is reported with status False."""
    condition = get(conditions, type_)
    return condition is not None and condition.status == FALSE


def is_unknown(conditions: Iterable[Condition], type_: str) -> bool:
    """Return whether the condition is reported with status Unknown, or not at all."""
    condition = get(conditions, type_)
    return condition is None or condition.status == UNKNOWN


def reason_of(conditions: Iterable[Condition], type_: str) -> str:
    """Return the condition's reason, "" if it is not reported."""
    condition = get(conditions, type_)
    return condition.reason if condition is not None else ""


def message_of(conditions: Iterable[Condition], type_: str) -> str:
    """Return the condition's message, "" if it is not reported."""
    condition = get(conditions, type_)
    return condition.message if condition is not None else ""


def true(type_: str, reason: str, message: str = "") -> Condition:
    """Return a condition with status True; its time is set when it is written to an object."""
    return Condition(type=type_, status=TRUE, reason=reason, message=message)


def false(type_: str, reason: str, message: str = "") -> Condition:
    """Return a condition with status False; its time is set when it is written to an object."""
    return Condition(type=type_, status=FALSE, reason=reason, message=message)


def unknown(type_: str, reason: str, message: str = "") -> Condition:
    """Return a condition with status Unknown; its time is set when it is written to an object."""
    return Condition(type=type_, status=UNKNOWN, reason=reason, message=message)


def from_bool(value: bool) -> str:  # noqa: FBT001
    """Return the status for a boolean."""
    return TRUE if value else FALSE
