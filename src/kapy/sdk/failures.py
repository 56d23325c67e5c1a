"""Report a provider's failures as Events and conditions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from kapy.api.condition import Condition
from kapy.api.names import ConditionType, Reason
from kapy.api.wording import LOOK_AT_LOGS
from kapy.conditions import false, unknown
from kapy.engine.events import Recorder
from kapy.engine.failure import NotYet, describe_error, is_expected, is_transient, reasons
from kapy.kube import Document
from kapy.kube.errors import KapyError

_WAITING: Final = {ConditionType.READY: Reason.NOT_READY}


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
        waits = [str(item) for item in reasons(error) if isinstance(item, NotYet)]
        reason = _WAITING.get(type_, Reason.NOT_AVAILABLE)
        return false(type_, reason, "; ".join(waits)) if waits else None
    message = describe_error(error) if is_expected(error) else LOOK_AT_LOGS
    return unknown(type_, Reason.INTERNAL_ERROR, message)
