"""Trying again what failed for a moment: a lost connection, an overloaded or restarting server.

Upstream wraps each request in a back-off of its own that repeats any error; here a refusal is told
at once, since it would be the same again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from kapy.kube.errors import Conflict, ServerError, TooManyRequests, Unreachable

T = TypeVar("T")

PAUSES: Final = (0.25, 0.4, 0.65, 1.0, 1.7, 2.7, 4.3)
"""Seconds before each further try: eleven in all."""


async def retry(work: Callable[[], Awaitable[T]]) -> T:
    """What `work` answers; tried again where the failure may pass. Raises what it raised last.

    Work that creates must take AlreadyExists: the answer of a first try may have been lost.
    """
    for pause in PAUSES:
        try:
            return await work()
        except (Unreachable, ServerError, TooManyRequests, Conflict):
            from asyncio import sleep  # commands that ask once do without asyncio

            # Nothing can be watched that says when a server is well again.
            await sleep(pause)
    return await work()
