"""Conditions in the v1beta1 format, for readers of that version.

    legacy = v1beta1.conditions_of(machine)            # status.deprecated.v1beta1.conditions
    v1beta1.set_condition(legacy, v1beta1.false("BootstrapReady", "WaitingFor…", INFO, ""), now)
    v1beta1.set_condition(legacy, v1beta1.summary(legacy, types=[…]), now)

They have a severity, and True needs no reason. Ready comes first, the others are sorted by name
(upstream's `util/conditions/deprecated/v1beta1`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cache
from typing import Any, Final, NamedTuple

import msgspec

from kapy.api.condition import V1Beta1Condition
from kapy.api.times import moment, stamp
from kapy.conditions.lookup import FALSE, TRUE, UNKNOWN
from kapy.kube import Document
from kapy.kube.model import Model, decode, model_in

READY: Final = "Ready"

ERROR: Final = "Error"
WARNING: Final = "Warning"
INFO: Final = "Info"

LONGEST_REASON: Final = 256
LONGEST_MESSAGE: Final = 10240
STATUSES: Final = (TRUE, FALSE, UNKNOWN)

_OPPOSITE: Final = {TRUE: FALSE, FALSE: TRUE}
_ORDER: Final = ((FALSE, ERROR), (FALSE, WARNING), (FALSE, INFO), (TRUE, ""), (UNKNOWN, ""))


def true(type_: str) -> V1Beta1Condition:
    """Return a condition with status True."""
    return V1Beta1Condition(type=type_, status=TRUE)


def false(type_: str, reason: str, severity: str, message: str = "") -> V1Beta1Condition:
    """Return a condition with status False and a severity."""
    return V1Beta1Condition(
        type=type_, status=FALSE, reason=reason, severity=severity, message=message
    )


def unknown(type_: str, reason: str, message: str = "") -> V1Beta1Condition:
    """Return a condition with status Unknown."""
    return V1Beta1Condition(type=type_, status=UNKNOWN, reason=reason, message=message)


def conditions_of(obj: Any) -> list[V1Beta1Condition]:
    """Return the mutable v1beta1 conditions of a typed object.

    obj: any kind whose status has `deprecated`; missing parts are created.
    """
    status = obj.status
    if status.deprecated is None:
        status.deprecated = _part(status, "deprecated")
    if status.deprecated.v1beta1 is None:
        status.deprecated.v1beta1 = _part(status.deprecated, "v1beta1")
    conditions: list[V1Beta1Condition] = status.deprecated.v1beta1.conditions
    return conditions


def get(conditions: Iterable[V1Beta1Condition], type_: str) -> V1Beta1Condition | None:
    """Return the condition of a type, None if it is not reported."""
    return next((condition for condition in conditions if condition.type == type_), None)


def foreign_ready(document: Document) -> V1Beta1Condition | None:
    """Return the Ready condition of a provider's object, to be mirrored.

    Returns None also for an invalid condition (no time, no status, longer than the schema allows):
    the v1beta2 conditions report that already.
    """
    status = document.get("status")
    listed = status.get("conditions") if isinstance(status, dict) else None
    for entry in listed if isinstance(listed, list) else ():
        if isinstance(entry, dict) and entry.get("type") == READY:
            return _decode_condition(entry)
    return None


def _decode_condition(entry: Document) -> V1Beta1Condition | None:
    try:
        beta1_condition = decode(entry, V1Beta1Condition)
        if beta1_condition.last_transition_time:
            moment(beta1_condition.last_transition_time)
    except ValueError:  # includes msgspec's errors
        return None
    fits = (
        len(beta1_condition.reason) <= LONGEST_REASON
        and len(beta1_condition.message) <= LONGEST_MESSAGE
    )
    return beta1_condition if fits and beta1_condition.status in STATUSES else None


def set_condition(
    conditions: list[V1Beta1Condition], condition: V1Beta1Condition | None, now: datetime
) -> None:
    """Write a condition; None changes nothing. Its time changes with any of its fields.

    Too long messages are truncated.
    """
    if condition is None:
        return
    if len(condition.message) > LONGEST_MESSAGE:
        cut = condition.message[:LONGEST_MESSAGE]
        condition = msgspec.structs.replace(condition, message=cut)
    present = get(conditions, condition.type)
    if present is not None and _state(present) == _state(condition):
        return
    time = stamp(now)
    if present is None:
        time = condition.last_transition_time or time
        conditions.append(_copy_condition(condition, condition.type, time))
    else:
        conditions[conditions.index(present)] = _copy_condition(condition, condition.type, time)
    conditions.sort(key=_place)


def delete_condition(conditions: list[V1Beta1Condition], type_: str) -> None:
    """Remove the condition of a type from a list of conditions."""
    conditions[:] = [condition for condition in conditions if condition.type != type_]


def mirror(
    ready: V1Beta1Condition | None, type_: str, fallback: V1Beta1Condition | None = None
) -> V1Beta1Condition | None:
    """Mirror another object's Ready condition as a type; return the fallback if there is none."""
    beta1_condition = ready or fallback
    return (
        None
        if beta1_condition is None
        else _copy_condition(beta1_condition, type_, beta1_condition.last_transition_time)
    )


class Source(NamedTuple):
    """A condition to merge, and the object that reports it."""

    condition: V1Beta1Condition
    kind: str = ""
    name: str = ""


def summary(
    conditions: Iterable[V1Beta1Condition],
    types: Sequence[str] = (),
    *,
    negative: Sequence[str] = (),
    counted: bool = False,
    counted_only: Sequence[str] = (),
) -> V1Beta1Condition | None:
    """Summarize an object's other conditions into Ready; None if there are none.

    types: the conditions in order of priority, None for all. negative: those whose True is bad.
    counted: the message counts steps; counted_only: only if no other conditions than these exist.
    """
    scope = [
        condition
        for condition in conditions
        if condition.type != READY and (not types or condition.type in types)
    ]
    if counted_only:
        counted = all(beta1_condition.type in counted_only for beta1_condition in scope)
    steps = len(counted_only or types or scope) if counted else None
    sources = [Source(beta1_condition) for beta1_condition in scope]
    return _merge_conditions(sources, READY, order=types, negative=negative, steps=steps)


def aggregate(
    sources: Sequence[tuple[V1Beta1Condition | None, str, str]],
    type_: str,
    *,
    referred: bool = True,
    ready: int = 0,
) -> V1Beta1Condition | None:
    """Aggregate the Ready conditions of many objects (None: not reported) into one type.

    referred: the reason names the object that it comes from. ready: the number of further objects
    whose Ready is True.
    """
    result = [
        Source(beta1_condition, kind, name)
        for beta1_condition, kind, name in sources
        if beta1_condition is not None
    ]
    return _merge_conditions(result, type_, steps=len(sources), referred=referred, done=ready)


def _merge_conditions(
    sources: Sequence[Source],
    type_: str,
    *,
    order: Sequence[str] = (),
    negative: Sequence[str] = (),
    steps: int | None = None,
    referred: bool = False,
    done: int = 0,
) -> V1Beta1Condition | None:
    groups: dict[tuple[str, str], list[Source]] = {(TRUE, ""): []} if done else {}
    for source in sources:
        status = source.condition.status
        if source.condition.type in negative:
            status = _OPPOSITE.get(status, status)
        groups.setdefault((status, source.condition.severity), []).append(source)
    if not groups:
        return None
    (status, severity), top = min(groups.items(), key=lambda group: _priority(group[0]))
    if status == TRUE:
        return true(type_)
    first = _first(top, order)
    reason = first.condition.reason
    if referred and "@" not in reason:
        reason = f"{reason} @ {first.kind}/{first.name}"
    message = first.condition.message
    if steps is not None:
        completed = len(groups.get((TRUE, ""), ())) + done
        message = f"{completed} of {steps + done} completed"
    if status == FALSE:
        return false(type_, reason, severity, message)
    return unknown(type_, reason, message)


def _first(group: Sequence[Source], order: Sequence[str]) -> Source:
    """Return the condition whose reason and message are used."""

    def place(source: Source) -> tuple[int, tuple[bool, str], str]:
        type_ = source.condition.type
        wanted = order.index(type_) if type_ in order else len(order)
        return wanted, _place(source.condition), source.name

    return min(group, key=place)


def _priority(group: tuple[str, str]) -> int:
    if group in _ORDER:
        return _ORDER.index(group)
    statuses = [status for status, _ in _ORDER]
    return statuses.index(group[0]) if group[0] in (TRUE, UNKNOWN) else len(_ORDER)


def _place(condition: V1Beta1Condition) -> tuple[bool, str]:
    return condition.type != READY, condition.type


def _state(condition: V1Beta1Condition) -> tuple[str, str, str, str]:
    return condition.status, condition.reason, condition.severity, condition.message


def _copy_condition(condition: V1Beta1Condition, type_: str, time: str) -> V1Beta1Condition:
    return V1Beta1Condition(
        type=type_,
        status=condition.status,
        severity=condition.severity,
        reason=condition.reason,
        message=condition.message,
        last_transition_time=time,
    )


def _part(of: Model, name: str) -> Model:
    """Return a new, empty part of a status."""
    return _type_of_part(type(of), name)()


@cache
def _type_of_part(of: type[Model], name: str) -> type[Model]:
    (field,) = (item for item in msgspec.structs.fields(of) if item.name == name)
    part = model_in(field.type)
    assert part is not None, f"{of.__name__}.{name} holds no Struct"
    return part
