"""Client-side rate limiting with a token bucket, and a slower rate after 429 responses.

The limits are client-go's `--kube-api-qps` (requests per second in the long run) and
`--kube-api-burst` (requests at once). After a response 429, no request is sent until its
Retry-After has passed. Then the rate is halved, and it recovers with each other response. Streams
are limited like short requests.
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
"""Minimum seconds between two warnings about 429 responses."""

log = logging.getLogger(__name__)


class RateLimited(Interceptor):
    """A transport that sends at most `qps` requests per second in the long run, `burst` at once.

    pace: the current rate in requests per second. waited: the number of delayed requests.
    is_refused: whether the last response was 429.
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
        """Return a sentence about a server that limits requests, "" if it does not."""
        if not self.is_refused:
            return ""
        return (
            f"{self.host} answers 429 (too many requests): it is asked {self.pace:.3g} times a "
            "second at most until it takes more"
        )

    async def probe(self, request: Request) -> Reply:
        """Send a probe without waiting.

        A probe must not wait behind other requests, and any response shows that the server is
        alive.
        """
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
                # A timer, because the wait is for time itself.
                await asyncio.sleep(missing)

    def _seconds_to_next(self) -> float:
        """Return the seconds until the next request may be sent."""
        now = asyncio.get_running_loop().time()
        if now < self._from:
            return self._from - now
        self._tokens = min(self._burst, self._tokens + (now - self._last) * self.pace)
        self._last = now
        # Rounding: sums of small parts may stay below a whole number.
        return 0.0 if self._tokens > 1.0 - 1e-6 else (1.0 - self._tokens) / self.pace

    def _slow_down(self, retry_after: float | None) -> None:
        """Pause, then continue at half the rate. Further 429 responses during the pause have no
        effect: they answer requests that were sent before it."""
        now = asyncio.get_running_loop().time()
        if now < self._from:
            return
        self._from = self._last = now + min(1.0 if retry_after is None else retry_after, MAX_PAUSE)
        self._tokens = min(self._tokens, 1.0)  # do not use up saved tokens at once
        self.pace = max(self.pace / 2, min(MIN_RATE, self._qps))
        self.is_refused = True
        if self._told_at is None or now - self._told_at >= LOG_INTERVAL:
            self._told_at = now
            log.warning("%s", self.problem)


def _is_blocked_eviction(request: Request, reply: Reply) -> bool:
    """Return whether a 429 response refuses an eviction because of a PodDisruptionBudget.

    The server itself is not overloaded then.
    """
    return request.path.endswith("/eviction") and retry_after(reply.headers) is None
