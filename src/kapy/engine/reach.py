"""A server that goes away: everybody waits, one asks whether it is back.

Where no request gets an answer, or none of them is accepted any more (credentials that ended), it
makes no sense that hundreds of watches and reconciles find that out again and again, and back off
until they would sleep for minutes after the server came back. The first failure closes the gate;
what is asked from then on waits, and whoever stands first in the line probes. When the probe gets
its answer, all go on at once, nothing having failed meanwhile.

The probe asks for the server's version. One that is too old counts as away until it is upgraded;
where a version is needed, the gate is closed until the first probe.
"""

from __future__ import annotations

import asyncio
import logging
from random import Random
from typing import Final

from kapy.client.intercept import Interceptor
from kapy.client.reply import document_of, failure_of
from kapy.client.server_version import ANY, PATH, Needed, too_old
from kapy.engine.reflector import Backoff
from kapy.kube.errors import ApiError, KapyError, Unreachable
from kapy.kube.http import Reply, Request, Transport

log = logging.getLogger(__name__)

LONGEST_PROBE: Final = 3.0
"""Seconds between probes at most: so long after its return the server may be noticed."""
PROBE_TIMEOUT: Final = 5.0
"""Seconds that a probe waits: a server that comes back does not answer what was asked before."""
_PROBE: Final = Request("GET", PATH)
_UNAUTHORIZED: Final = 401
_LATER: Final = 429
_FAILED: Final = 500


class Reach(Interceptor):
    """A transport whose requests wait while its server is away. away: why it is, "" when not.

    needed: the oldest version that the server may have. The request that finds out that it is away
    fails: nobody knows whether it was carried out.
    """

    __slots__ = ("_backoff", "_line", "_needed", "_since", "away")

    def __init__(self, transport: Transport, random: Random, needed: Needed = ANY) -> None:
        super().__init__(transport)
        self._backoff = Backoff(random, longest=LONGEST_PROBE)
        self._line = asyncio.Lock()
        self._since: float | None = None
        self._needed = needed
        self.away = f"{self.host} was not asked for its version yet" if needed.version else ""

    async def __call__(self, request: Request) -> Reply:
        if self.away:
            await self._back()
        try:
            reply = await self.transport(request)
        except Unreachable as error:
            self._lost(str(error))
            raise
        if reply.status == _UNAUTHORIZED:
            self._lost(self._refuses(reply))
        return reply

    def _lost(self, why: str) -> None:
        if not self.away:
            self._backoff.reset()
            self._waits(why)

    def _waits(self, why: str) -> None:
        if self._since is None:
            self._since = asyncio.get_running_loop().time()
        if self.away != why:
            self.away = why
            log.warning("%s; everything waits until that is over", why)

    async def _back(self) -> None:
        """Wait until the server answers as it should; the first in the line asks it."""
        async with self._line:
            while self.away and not await self._answers():  # noqa: ASYNC110
                # A timer: nothing tells that a server can be reached again.
                await asyncio.sleep(self._backoff.next())

    async def _answers(self) -> bool:
        try:
            async with asyncio.timeout(PROBE_TIMEOUT):
                why = self._amiss(await self.transport(_PROBE))
        except TimeoutError:
            why = f"{self.host} does not answer"
        except KapyError as error:
            why = str(error)
        if why:
            self._waits(why)
            return False
        if self._since is not None:
            seconds = asyncio.get_running_loop().time() - self._since
            log.warning("%s is back after %.1f seconds", self.host, seconds)
        self.away, self._since = "", None
        return True

    def _amiss(self, reply: Reply) -> str:
        """What is wrong with a server that answers so, "" for nothing."""
        if reply.status == _UNAUTHORIZED:
            return self._refuses(reply)
        if not self._needed.version:
            return ""
        if reply.status == _LATER or reply.status >= _FAILED:
            return f"{self.host} answers {reply.status} when it is asked for its version"
        try:
            fault = too_old(document_of(reply), self._needed)
        except ApiError:  # nothing that tells versions
            return ""
        return f"{self.host} cannot be used: {fault}" if fault else ""

    def _refuses(self, reply: Reply) -> str:
        why = failure_of(reply).message
        return f"{self.host} does not accept the credentials of this program ({why})"
