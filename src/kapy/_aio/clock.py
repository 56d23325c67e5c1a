"""Clocks as function arguments, for tests on virtual time."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

Clock: TypeAlias = Callable[[], datetime]
"""Answers the present moment as an aware UTC datetime."""

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


def system_clock() -> datetime:
    """Return the machine's own clock: the one place where it is read."""
    return datetime.now(UTC)  # noqa: TID251


def loop_clock(start: datetime = EPOCH) -> Clock:
    """Return a clock that advances with the running event loop's `time()`, from `start`."""
    from asyncio import get_running_loop  # here: short commands do not import asyncio

    loop = get_running_loop()
    began = loop.time()
    return lambda: start + timedelta(seconds=loop.time() - began)
