"""The rate of a program's requests: a bucket of tokens, and patience with a server that says 429.

client-go's `--kube-api-qps` and `--kube-api-burst`: so many requests a second, so many at a time.
A server that answers 429 is given what it asks for: nobody asks before its Retry-After is over,
and then at half the pace, which grows again with every answer. Streams and short requests alike.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from kapy.client.intercept import Interceptor, probe_of
from kapy.client.reply import retry_after
from kapy.kube.http import Reply, Request, Transport

MIN_RATE: Final = 1.0  # requests a second, at least, whatever the server says
RECOVERY_STEP: Final = 0.05  # of the full pace, per answer that is no 429
MAX_PAUSE: Final = 60.0
TOO_MANY: Final = 429
LOG_INTERVAL: Final = 60.0
"""Seconds between two warnings that a server has enough, at least."""

log = logging.getLogger(__name__)


class RateLimited(Interceptor):
    """A transport that asks at most `qps` times a second in the long run, `burst` times at once.

    pace: requests a second at the moment. waited: how many requests had to wait. is_refused:
    whether the last answer was 429.
    """

    __slots__ = (
        "_burst",
        "_from",
        "_gate",
        "_last",
        "_qps",
        "_tokens",
        "_told_at",
        "is_refused",
        "pace",
        "waited",
    )

    def __init__(self, transport: Transport, *, qps: float, burst: float) -> None:
        super().__init__(transport)
        self._qps = self.pace = max(qps, 0.001)
        self._burst = self._tokens = max(burst, 1.0)
        self._gate = asyncio.Lock()
        self._last = 0.0
        self._from = 0.0
        self._told_at: float | None = None
        self.waited = 0
        self.is_refused = False

    @property
    def problem(self) -> str:
        """Return the problem of the server, "" for none."""
        if not self.is_refused:
            return ""
        return (
            f"{self.host} answers 429 (too many requests): it is asked {self.pace:.3g} times a "
            "second at most until it takes more"
        )

    async def probe(self, request: Request) -> Reply:
        """At once: a server that wants to be asked less is there."""
        return await probe_of(self.transport)(request)

    async def __call__(self, request: Request) -> Reply:
        if self._gate.locked() or self._seconds_to_next() > 0:
            await self._wait()
        self._tokens -= 1.0
        reply = await self.transport(request)
        if reply.status == TOO_MANY and not _is_blocked_eviction(request, reply):
            self._slow_down(retry_after(reply.headers))
            return reply
        self.is_refused = False
        if self.pace < self._qps:
            self.pace = min(self._qps, self.pace + self._qps * RECOVERY_STEP)
        return reply

    async def _wait(self) -> None:
        """Wait for this request's turn, first come first served."""
        self.waited += 1
        async with self._gate:
            while (missing := self._seconds_to_next()) > 0:  # noqa: ASYNC110
                # A timer: what is waited for is time itself.
                await asyncio.sleep(missing)

    def _seconds_to_next(self) -> float:
        """Seconds until the next request may be sent."""
        now = asyncio.get_running_loop().time()
        if now < self._from:
            return self._from - now
        self._tokens = min(self._burst, self._tokens + (now - self._last) * self.pace)
        self._last = now
        # Sums of small parts are never quite whole.
        return 0.0 if self._tokens > 1.0 - 1e-6 else (1.0 - self._tokens) / self.pace

    def _slow_down(self, retry_after: float | None) -> None:
        """The server has enough. Once per pause: all who asked before it hear the same."""
        now = asyncio.get_running_loop().time()
        if now < self._from:
            return
        self._from = self._last = now + min(1.0 if retry_after is None else retry_after, MAX_PAUSE)
        self._tokens = min(self._tokens, 1.0)  # what was saved up before is of no use now
        self.pace = max(self.pace / 2, min(MIN_RATE, self._qps))
        self.is_refused = True
        if self._told_at is None or now - self._told_at >= LOG_INTERVAL:
            self._told_at = now
            log.warning("%s", self.problem)


def _is_blocked_eviction(request: Request, reply: Reply) -> bool:
    """Whether what is too much is a disruption, for a budget of the Pod's: the server is well."""
    return request.path.endswith("/eviction") and retry_after(reply.headers) is None
