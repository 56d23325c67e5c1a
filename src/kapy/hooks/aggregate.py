"""Aggregate the responses of several handlers of a hook."""

from __future__ import annotations

from collections.abc import Iterable

from kapy.hooks.hook import Hook, Req, Resp
from kapy.hooks.messages.message import RetryResponse


def aggregate_responses(hook: Hook[Req, Resp], responses: Iterable[Resp]) -> Resp:
    """Return one response for several successful ones: the shortest retry, and all messages in
    order.
    """
    together = hook.response()
    messages = []
    for response in responses:
        if isinstance(response, RetryResponse) and isinstance(together, RetryResponse):
            together.retry_after_seconds = lowest_wait(
                together.retry_after_seconds, response.retry_after_seconds
            )
        if response.message:
            messages.append(response.message)
    together.message = ", ".join(messages)
    return together


def lowest_wait(first: int, other: int) -> int:
    """Return the lower of two retry times in seconds; 0 means none."""
    return min(first, other) if first and other else first or other
