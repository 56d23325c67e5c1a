"""A gate that holds all requests while a server is unavailable, and probes it.

If no request gets an answer, or credentials are refused, it is useless that hundreds of watches and
reconciles find that out again and again, and back off until they would sleep for minutes after the
server is back. The first failure closes the gate; later requests wait, and the first of them probes
the server. When a probe succeeds, all continue at once without having failed.

The probe reads the server's version. A server that is too old counts as unavailable until it is
upgraded; where a version is required, the gate is closed until the first probe.
"""

from __future__ import annotations

import asyncio
import logging
from random import Random
from typing import Final

from kapy.client.intercept import Interceptor
from kapy.client.reply import document_of, failure_of
from kapy.client.server_version import ANY, PATH, MinimumVersion, version_problem
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


class ServerAvailabilityGate(Interceptor):
    """A transport whose requests wait while its server is unavailable.

    unavailable_reason: "" if the server is available. needed: the oldest supported version of the
    server. The request that detects the failure fails, since it is unknown whether it was executed.
    """

    __slots__ = (
        "_backoff",
        "_line",
        "_required_version",
        "_unavailable_since",
        "unavailable_reason",
    )

    def __init__(self, transport: Transport, random: Random, needed: MinimumVersion = ANY) -> None:
        super().__init__(transport)
        self._backoff = Backoff(random, longest=LONGEST_PROBE)
        self._line = asyncio.Lock()
        self._unavailable_since: float | None = None
        self._required_version = needed
        self.unavailable_reason = (
            f"{self.host} was not asked for its version yet" if needed.version else ""
        )

    async def __call__(self, request: Request) -> Reply:
        if self.unavailable_reason:
            await self._wait_until_available()
        try:
            reply = await self.transport(request)
        except Unreachable as error:
            self._on_failure(str(error))
            raise
        if reply.status == _UNAUTHORIZED:
            self._on_failure(self._describe_refusal(reply))
        return reply

    def _on_failure(self, why: str) -> None:
        if not self.unavailable_reason:
            self._backoff.reset()
            self._close_gate(why)

    def _close_gate(self, why: str) -> None:
        if self._unavailable_since is None:
            self._unavailable_since = asyncio.get_running_loop().time()
        if self.unavailable_reason != why:
            self.unavailable_reason = why
            log.warning("%s; everything waits until that is over", why)

    async def _wait_until_available(self) -> None:
        """Wait until the server is available; the first request in line probes it."""
        async with self._line:
            while self.unavailable_reason and not await self._probe():  # noqa: ASYNC110
                # A timer: no event shows that a server can be reached again.
                await asyncio.sleep(self._backoff.next())

    async def _probe(self) -> bool:
        try:
            async with asyncio.timeout(PROBE_TIMEOUT):
                why = self._fault_of(await self.transport(_PROBE))
        except TimeoutError:
            why = f"{self.host} does not answer"
        except KapyError as error:
            why = str(error)
        if why:
            self._close_gate(why)
            return False
        if self._unavailable_since is not None:
            seconds = asyncio.get_running_loop().time() - self._unavailable_since
            log.warning("%s is back after %.1f seconds", self.host, seconds)
        self.unavailable_reason, self._unavailable_since = "", None
        return True

    def _fault_of(self, reply: Reply) -> str:
        """Return what is wrong with a server by its answer, "" for nothing."""
        if reply.status == _UNAUTHORIZED:
            return self._describe_refusal(reply)
        if not self._required_version.version:
            return ""
        if reply.status == _LATER or reply.status >= _FAILED:
            return f"{self.host} answers {reply.status} when it is asked for its version"
        try:
            fault = version_problem(document_of(reply), self._required_version)
        except ApiError:  # not a version response
            return ""
        return f"{self.host} cannot be used: {fault}" if fault else ""

    def _describe_refusal(self, reply: Reply) -> str:
        why = failure_of(reply).message
        return f"{self.host} does not accept the credentials of this program ({why})"
