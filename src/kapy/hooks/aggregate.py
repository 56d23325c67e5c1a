"""What several handlers of a hook say together."""

from __future__ import annotations

from collections.abc import Iterable

from kapy.hooks.hook import Hook, Req, Resp
from kapy.hooks.messages.message import RetryResponse


def aggregated(hook: Hook[Req, Resp], responses: Iterable[Resp]) -> Resp:
    """One response for several that are a success: the shortest wait, and all messages in their
    order."""
    together = hook.response()
    messages = []
    for one in responses:
        if isinstance(one, RetryResponse) and isinstance(together, RetryResponse):
            together.retry_after_seconds = lowest_wait(
                together.retry_after_seconds, one.retry_after_seconds
            )
        if one.message:
            messages.append(one.message)
    together.message = ", ".join(messages)
    return together


def lowest_wait(one: int, other: int) -> int:
    """The lower of two waits, in seconds; 0 is none."""
    return min(one, other) if one and other else one or other
