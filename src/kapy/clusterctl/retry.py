"""Retries transient failures: a lost connection, an overloaded or restarting server.

Upstream retries each request after any error; here a refusal is reported at once, because a retry
would be refused, too.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from kapy.kube.errors import Conflict, ServerError, TooManyRequests, Unreachable

T = TypeVar("T")

PAUSES: Final = (0.25, 0.4, 0.65, 1.0, 1.7, 2.7, 4.3)
"""Seconds before each retry: eleven in all."""


async def retry(work: Callable[[], Awaitable[T]]) -> T:
    """Return the result of `work`, with retries of transient failures. Raises its last error.

    `work` must handle AlreadyExists if it creates an object: the answer to the first try may have
    been lost.
    """
    for pause in PAUSES:
        try:
            return await work()
        except (Unreachable, ServerError, TooManyRequests, Conflict):
            from asyncio import sleep  # commands with a single request do not need asyncio

            # A timer: no event shows that a server works again.
            await sleep(pause)
    return await work()
