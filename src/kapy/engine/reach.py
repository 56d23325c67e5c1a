"""A server that goes away: everybody waits, one asks whether it is back.

Where no request gets an answer, or none of them is accepted any more (credentials that ended), it
makes no sense that hundreds of watches and reconciles find that out again and again, and back off
until they would sleep for minutes after the server came back. The first failure closes the gate;
what is asked from then on waits, and whoever stands first in the line probes. When the probe gets
its answer, all go on at once, nothing having failed meanwhile.
"""

from __future__ import annotations

import asyncio
import logging
from random import Random
from typing import Final

from kapy.client.intercept import Interceptor
from kapy.engine.reflector import Backoff
from kapy.kube.errors import KapyError, Unreachable
from kapy.kube.http import Reply, Request, Transport

log = logging.getLogger(__name__)

LONGEST_PROBE: Final = 3.0
"""Seconds between probes at most: so long after its return the server may be noticed."""
PROBE_TIMEOUT: Final = 5.0
"""Seconds that a probe waits: a server that comes back does not answer what was asked before."""
_PROBE: Final = Request("GET", "/version")
_UNAUTHORIZED: Final = 401


class Reach(Interceptor):
    """A transport whose requests wait while its server is away. away: why it is, "" when not.

    The request that finds out fails: nobody knows whether it was carried out.
    """

    __slots__ = ("_backoff", "_line", "_since", "away")

    def __init__(self, transport: Transport, random: Random) -> None:
        super().__init__(transport)
        self._backoff = Backoff(random, longest=LONGEST_PROBE)
        self._line = asyncio.Lock()
        self._since = 0.0
        self.away = ""

    async def __call__(self, request: Request) -> Reply:
        if self.away:
            await self._back()
        try:
            reply = await self.transport(request)
        except Unreachable as error:
            self._lost(str(error))
            raise
        if reply.status == _UNAUTHORIZED:
            self._lost(f"{self.host} does not accept the credentials of this program")
        return reply

    def _lost(self, why: str) -> None:
        if self.away:
            return
        self.away = why
        self._since = asyncio.get_running_loop().time()
        self._backoff.reset()
        log.warning("%s; everything waits until it is back", why)

    async def _back(self) -> None:
        """Wait until the server answers; the first in the line asks it."""
        async with self._line:
            while self.away and not await self._answers():  # noqa: ASYNC110
                # A timer: nothing tells that a server can be reached again.
                await asyncio.sleep(self._backoff.next())

    async def _answers(self) -> bool:
        try:
            async with asyncio.timeout(PROBE_TIMEOUT):
                reply = await self.transport(_PROBE)
        except TimeoutError:
            return False
        except KapyError as error:
            self.away = str(error)
            return False
        if reply.status == _UNAUTHORIZED:
            return False
        seconds = asyncio.get_running_loop().time() - self._since
        log.warning("%s is back after %.1f seconds", self.host, seconds)
        self.away = ""
        return True
