"""Runs coroutines that never wait without an event loop, because importing asyncio takes longer
than they do.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run_without_loop(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine that only reads files, or asks transports that block."""
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    work.close()
    raise RuntimeError("the coroutine waits for something that needs an event loop")
