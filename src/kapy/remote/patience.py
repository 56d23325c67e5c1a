"""How long, and how often at a time, controllers wait for one workload cluster.

Whoever waits for one takes no worker's place meanwhile (`kapy.engine.places`). It costs memory all
the same: of a cluster that answers late, or never, only a few are let through, and none at all once
it has been silent for a while.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from typing import Final

from kapy.client.intercept import Interceptor
from kapy.engine.failure import NotYet
from kapy.engine.places import away as away
from kapy.engine.reflector import Backoff
from kapy.kube.errors import Unreachable
from kapy.kube.http import Reply, Request, Transport

LONGEST_WAIT: Final = 10.0  # seconds for an answer, upstream's
AT_ONCE: Final = 5
LINE: Final = 100  # requests that wait for their turn at one cluster
LATE_AT_ONCE: Final = 250
PROMPT: Final = 1.0  # seconds; a cluster far away has its answers in that time
FIRST_REST: Final = 1.0
LONGEST_REST: Final = 30.0


class Overdue:
    """Places for requests of a whole program whose answers are late: so many reconciles at most
    wait for clusters that answer late, or never, however many of those there are."""

    def __init__(self, places: int = LATE_AT_ONCE) -> None:
        self._places = places
        self._taken: set[object] = set()

    def take(self, token: object) -> bool:
        """Take a place; False where there is none left."""
        if len(self._taken) >= self._places:
            return False
        self._taken.add(token)
        return True

    def leave(self, token: object) -> None:
        """Give the place back, where one was taken."""
        self._taken.discard(token)


class NotConnected(NotYet):
    """There is no connection to the workload cluster (yet, or any more); the message says why."""


class Patience(Interceptor):
    """A transport for requests that somebody waits for.

    No answer within `LONGEST_WAIT` is Unreachable; after that nobody is let through for a while,
    which grows until an answer comes; so it is after `PROMPT` already where `overdue` has no place
    left. `AT_ONCE` requests are under way at a time. While they wait for longer than a prompt
    answer takes, further ones are refused at once (NotConnected), as are those that would be more
    than `LINE` behind them. recovered: called when the cluster answers again after it did not, and
    when those who were refused may try again.
    """

    __slots__ = (
        "_again",
        "_backoff",
        "_begun",
        "_line",
        "_overdue",
        "_places",
        "_recovered",
        "_rests_until",
        "_silent",
    )

    def __init__(
        self,
        transport: Transport,
        random: Random,
        recovered: Callable[[], None],
        overdue: Overdue | None = None,
    ) -> None:
        super().__init__(transport)
        self._overdue = overdue or Overdue()
        self._recovered = recovered
        self._backoff = Backoff(random, first=FIRST_REST, longest=LONGEST_REST)
        self._begun: dict[object, float] = {}  # by request, the oldest first
        self._places = asyncio.Semaphore(AT_ONCE)
        self._line = 0  # how many wait for a place
        self._rests_until = 0.0
        self._silent = False
        self._again: asyncio.TimerHandle | None = None

    async def __call__(self, request: Request) -> Reply:
        if not self.over_network:
            return await self.transport(request)  # nothing to wait for
        with away():
            return await self._waited_for(request)

    async def _waited_for(self, request: Request) -> Reply:
        await self._admitted()
        token, loop = object(), asyncio.get_running_loop()
        began = self._begun[token] = loop.time()
        try:
            async with asyncio.timeout(LONGEST_WAIT) as limit:
                late = loop.call_later(PROMPT, self._late, token, limit)
                try:
                    reply = await self.transport(request)
                finally:
                    late.cancel()
        except TimeoutError:
            self._rest()
            raise Unreachable(f"no answer within {loop.time() - began:.3g} seconds") from None
        finally:
            del self._begun[token]
            self._overdue.leave(token)
            self._places.release()
        self._answered()
        return reply

    def _late(self, token: object, limit: asyncio.Timeout) -> None:
        if not self._overdue.take(token):
            limit.reschedule(asyncio.get_running_loop().time())

    async def _admitted(self) -> None:
        """Take a place. Raises NotConnected when none is to be had soon."""
        now = asyncio.get_running_loop().time()
        if now < self._rests_until:
            self._invite(self._rests_until - now)
            raise NotConnected(
                f"{self.host} did not answer in time, and is left alone for "
                f"{self._rests_until - now:.1f} more seconds"
            )
        if self._line >= LINE:
            raise self._crowded()
        self._line += 1
        try:
            while not await self._seated():
                if self._oldest() + PROMPT <= asyncio.get_running_loop().time():
                    raise self._crowded()
        finally:
            self._line -= 1

    async def _seated(self) -> bool:
        """Take a place; False where nobody gave one up for as long as a prompt answer takes."""
        now = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(max(0.0, self._oldest() + PROMPT - now)):
                return await self._places.acquire()
        except TimeoutError:
            return False

    def _oldest(self) -> float:
        """Since when the oldest request waits that is under way."""
        return next(iter(self._begun.values()), asyncio.get_running_loop().time())

    def _crowded(self) -> NotConnected:
        self._invite(LONGEST_WAIT)
        return NotConnected(f"{AT_ONCE} requests are waiting for {self.host} to answer")

    def _invite(self, after: float) -> None:
        """Tell those who are refused when to try again.

        A timer, because they wait for news of the connection, and while nobody may use it there
        is none: probes go another way.
        """
        if self._again is None:
            self._again = asyncio.get_running_loop().call_later(after, self._invited)

    def _invited(self) -> None:
        self._again = None
        self._recovered()

    def uninvite(self) -> None:
        """Tell nobody any more: they hear of it otherwise."""
        if self._again is not None:
            self._again.cancel()
            self._again = None

    def _rest(self) -> None:
        self._silent = True
        now = asyncio.get_running_loop().time()
        if now >= self._rests_until:
            self._rests_until = now + self._backoff.next()

    def _answered(self) -> None:
        if self._silent:
            self._silent = False
            self._rests_until = 0.0
            self._backoff.reset()
            self.uninvite()
            self._recovered()
