"""Reports on a provider's object: conditions with their summary, and Events for failures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Final

from kapy.api.condition import Condition, V1Beta1Condition
from kapy.api.names import ConditionType, Reason
from kapy.api.wording import LOOK_AT_LOGS
from kapy.conditions import (
    FALSE,
    TRUE,
    Conditioned,
    Merge,
    delete_condition,
    false,
    reasons,
    set_condition,
    summary,
    unknown,
    v1beta1,
)
from kapy.engine.events import Recorder
from kapy.engine.result import NotYet, describe_error, is_expected, is_transient
from kapy.engine.result import reasons as failure_reasons
from kapy.kube import Document
from kapy.kube.errors import KapyError

_MERGES: Final = {
    ConditionType.READY: Merge(
        reason=reasons(Reason.NOT_READY, Reason.READY_UNKNOWN, Reason.READY)
    ),
    ConditionType.AVAILABLE: Merge(
        reason=reasons(Reason.NOT_AVAILABLE, Reason.AVAILABLE_UNKNOWN, Reason.AVAILABLE)
    ),
}

_WAITING: Final = {ConditionType.READY: Reason.NOT_READY}


def report(
    obj: Conditioned,
    conditions: Sequence[Condition],
    otherwise: Condition | None,
    now: datetime,
    target: str = ConditionType.READY,
) -> None:
    """Write the provider's conditions and their summary (target: Ready or Available).

    otherwise: the summary if the provider reports none; None removes it, including a former one.
    """
    for condition in conditions:
        set_condition(obj, condition, now)
    if conditions:
        types = [condition.type for condition in conditions]
        otherwise = summary(obj, target, types, merge=_MERGES[target])
    if otherwise is not None:
        set_condition(obj, otherwise, now)
    else:
        delete_condition(obj, target)


def report_v1beta1(
    obj: Conditioned,
    reported: Sequence[V1Beta1Condition],
    types: Sequence[str],
    now: datetime,
    *,
    counted: bool,
) -> None:
    """Write the v1beta1 conditions and their Ready; nothing if there are none.

    types: the conditions that Ready summarizes. counted: Ready counts how many of them are True.
    """
    if not reported:
        return
    legacy = v1beta1.conditions_of(obj)
    for condition in reported:
        v1beta1.set_condition(legacy, condition, now)
    v1beta1.set_condition(legacy, v1beta1.summary(legacy, types, counted=counted), now)


def in_v1beta1(conditions: Sequence[Condition]) -> list[V1Beta1Condition]:
    """Return the same conditions in the v1beta1 format; those that are False have the severity
    Info.
    """
    return [_in_v1beta1(condition) for condition in conditions]


def _in_v1beta1(condition: Condition) -> V1Beta1Condition:
    type_, reason, message = condition.type, condition.reason, condition.message
    if condition.status == TRUE:
        return v1beta1.true(type_)
    if condition.status == FALSE:
        return v1beta1.false(type_, reason, v1beta1.INFO, message)
    return v1beta1.unknown(type_, reason, message)


class ProviderMistake(KapyError):
    """A provider's result breaks its contract; the message names the rule."""


@contextmanager
def record_failures(events: Recorder, about: Document, reason: str) -> Iterator[None]:
    """Record a Warning about an error that is raised through; the controller backs off.

    The text of an unexpected error is not shown, since it may quote anything.
    """
    try:
        yield
    except Exception as error:
        if not is_transient(error):
            events.warning(
                about, reason, describe_error(error) if is_expected(error) else type(error).__name__
            )
        raise


def failure_condition(error: Exception, type_: str) -> Condition | None:
    """Return the condition for an error; None for a conflict, which the next try resolves.

    NotYet is no failure, and its message is shown as it is.
    """
    if is_transient(error):
        waits = [str(item) for item in failure_reasons(error) if isinstance(item, NotYet)]
        reason = _WAITING.get(type_, Reason.NOT_AVAILABLE)
        return false(type_, reason, "; ".join(waits)) if waits else None
    message = describe_error(error) if is_expected(error) else LOOK_AT_LOGS
    return unknown(type_, Reason.INTERNAL_ERROR, message)
