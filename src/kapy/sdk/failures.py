"""What a provider could not do, as an Event on its object and as a condition of it."""

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
    """A provider's answer breaks its contract; the message says which rule."""


@contextmanager
def tell_failures(events: Recorder, about: Document, reason: str) -> Iterator[None]:
    """Record a Warning about an error that passes through; the controller backs off from it.

    The text of an error that was not raised on purpose is not shown: nobody knows what it quotes.
    """
    try:
        yield
    except Exception as error:
        if not is_transient(error):
            events.warning(
                about, reason, describe_error(error) if is_expected(error) else type(error).__name__
            )
        raise


def failed(error: Exception, type_: str) -> Condition | None:
    """What a condition says of an error; None of a conflict, which the next try mends.

    What is waited for (NotYet) is no failure, and said as it is.
    """
    if is_transient(error):
        waits = [str(one) for one in reasons(error) if isinstance(one, NotYet)]
        reason = _WAITING.get(type_, Reason.NOT_AVAILABLE)
        return false(type_, reason, "; ".join(waits)) if waits else None
    message = describe_error(error) if is_expected(error) else LOOK_AT_LOGS
    return unknown(type_, Reason.INTERNAL_ERROR, message)
