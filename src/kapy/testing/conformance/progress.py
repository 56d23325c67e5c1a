"""Report progress periodically, so that a long run does not look stuck."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Final

from kapy._aio.services import run_services
from kapy.testing.conformance.check_results import CheckResults
from kapy.testing.conformance.run_context import RunContext, discard_progress

EVERY: Final = 15.0
"""The interval in seconds. A timer, because a wait for a provider has no events of its own."""
_MOST: Final = 5
"""Rules that are named in a line."""


def progress(results: CheckResults, context: RunContext) -> AbstractAsyncContextManager[None]:
    """Report how many checks have finished, while the body runs."""
    if context.report_progress is discard_progress:
        return nullcontext()

    async def tell() -> None:
        while True:
            await asyncio.sleep(EVERY)
            context.report_progress(progress_line(results))

    return run_services(progress=tell)


def progress_line(results: CheckResults) -> str:
    """Return the progress line."""
    names = sorted(set(results.running.values()))
    some = ", ".join(names[:_MOST])
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return f"{len(results.finished)} checks are over; at work: {some or 'none'}{more}"
