"""Waits during the start of a plane, with a time limit and progress reports."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from kapy.engine.runtime import Runtime
from kapy.kube.errors import KapyError, NotFound

START_TIMEOUT: Final = 60.0
"""Seconds that a part of a plane has until it works."""
FIRST_REPORT_SECONDS: Final = 5.0
REPORT_SECONDS: Final = 10.0
"""Seconds after which a wait is reported, and the interval of further reports."""

log = logging.getLogger(__name__)
"""Tells of waits; `kapy up --detach` passes on what is said here."""


class NotStarted(KapyError):
    """A part of a plane did not work in time; the message names it and the reason."""


@asynccontextmanager
async def wait_with_limit(
    subject: str | Callable[[], str],
    *,
    limit: float = START_TIMEOUT,
    remaining: Callable[[], int] = lambda: 1,
) -> AsyncIterator[None]:
    """Limit the time of the block and report long waits. Raises NotStarted after `limit` seconds
    in which `remaining`, the number of parts that do not work yet, has not become less.
    """
    loop = asyncio.get_running_loop()
    began, fewest = loop.time(), 0
    timer: asyncio.TimerHandle
    reported = ""

    def tell() -> None:
        nonlocal timer, reported, began, fewest
        now = _wait_message(subject)
        number = remaining()
        if number < fewest:  # a large fleet takes its time
            began = loop.time()
            patience.reschedule(began + limit)
        fewest = number
        if now != reported:
            log.warning("waiting for %s", now)
        else:
            log.warning("still waiting after %.0f s (of %.0f)", loop.time() - began, limit)
        reported, timer = now, loop.call_later(REPORT_SECONDS, tell)

    timer = loop.call_later(FIRST_REPORT_SECONDS, tell)
    patience = asyncio.timeout(limit)
    try:
        async with patience:
            yield
    except TimeoutError:
        if not patience.expired():
            raise
        raise NotStarted(f"the plane waited {limit:.0f} s for {_wait_message(subject)}") from None
    finally:
        timer.cancel()


def _wait_message(subject: str | Callable[[], str]) -> str:
    return subject if isinstance(subject, str) else subject()


async def wait_until_working(runtime: Runtime) -> None:
    """Wait until the controllers work. Raises NotStarted."""

    def what() -> str:
        return f"the objects that controllers read: {'; '.join(unread_resources(runtime))}"

    async with wait_with_limit(what, remaining=lambda: len(runtime.cache.unsynced_resources())):
        await runtime.working.wait()


def unread_resources(runtime: Runtime) -> list[str]:
    """Return the resources that were not read yet, each with the reason and the remedy."""
    failures = dict(runtime.cache.failures())
    names = sorted(runtime.cache.unsynced_resources(), key=lambda resource: resource.group_resource)
    return [_unread_message(name.group_resource, failures.get(name)) for name in names]


def _unread_message(name: str, failure: Exception | None) -> str:
    if failure is None:
        return f"{name} (no answer yet)"
    if isinstance(failure, NotFound):
        return (
            f"{name} has no CustomResourceDefinition here (a provider that you run lists it in its "
            "`kinds`; that of another provider is installed by `kapy init` on a plane without "
            "this one)"
        )
    return f"{name} ({failure})"
