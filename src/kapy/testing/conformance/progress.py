"""A line from time to time about what has been done, so that nobody thinks that a run hangs."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Final

from kapy._aio.services import running
from kapy.testing.conformance.session import Session, tell_nobody
from kapy.testing.conformance.verdicts import Verdicts

EVERY: Final = 15.0
"""Seconds. A timer: what waits for a provider has no news of its own."""
_MOST: Final = 5
"""Rules that are named in a line."""


def progress(verdicts: Verdicts, session: Session) -> AbstractAsyncContextManager[None]:
    """Tell how many checks are over, while the body runs."""
    if session.tell is tell_nobody:
        return nullcontext()

    async def tell() -> None:
        while True:
            await asyncio.sleep(EVERY)
            session.tell(told(verdicts))

    return running(progress=tell)


def told(verdicts: Verdicts) -> str:
    """The line."""
    names = sorted(set(verdicts.begun.values()))
    some = ", ".join(names[:_MOST])
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return f"{len(verdicts.finished)} checks are over; at work: {some or 'none'}{more}"
