"""Limit the concurrent requests to one workload cluster and the time that they wait.

A waiting request uses no worker slot (`kapy.engine.worker_slots`), but it uses memory: only a few
requests to a slow cluster are admitted, and none for a while after it did not answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from typing import Final

from kapy.client.intercept import Interceptor
from kapy.engine.reflector import Backoff
from kapy.engine.result import NotYet
from kapy.engine.worker_slots import yield_slot as yield_slot
from kapy.kube.errors import Unreachable
from kapy.kube.http import Reply, Request, Transport

LONGEST_WAIT: Final = 10.0  # seconds for a response, as in upstream
MAX_IN_FLIGHT: Final = 5
MAX_QUEUED: Final = 100  # maximum number of queued requests per cluster
MAX_SLOW: Final = 250
PROMPT: Final = 1.0  # seconds; even distant clusters respond within that time
FIRST_OPEN: Final = 1.0
LONGEST_OPEN: Final = 30.0


class SlowRequestLimit:
    """Limits the slow requests of a whole program to workload clusters, however many of them are
    slow.
    """

    def __init__(self, slots: int = MAX_SLOW) -> None:
        self._slots = slots
        self._taken: set[object] = set()

    def acquire(self, token: object) -> bool:
        """Acquire a slot; return False if none is left."""
        if len(self._taken) >= self._slots:
            return False
        self._taken.add(token)
        return True

    def release(self, token: object) -> None:
        """Release the slot, if one was acquired."""
        self._taken.discard(token)


class NotConnected(NotYet):
    """There is no connection to the workload cluster; the message says why."""


class RequestThrottle(Interceptor):
    """A transport that throttles requests and breaks the circuit to a silent cluster.

    A request without a response within `LONGEST_WAIT` is Unreachable; then no request is admitted
    for a while, which grows until a response arrives. If `overdue` has no slot left, that limit is
    `PROMPT`. `MAX_IN_FLIGHT` requests are sent at a time. While they are slower than a prompt
    response, further ones are refused at once (NotConnected), as are requests beyond `MAX_QUEUED`.
    recovered: called when the cluster responds again, and when refused requests may be tried again.
    """

    __slots__ = (
        "_backoff",
        "_open_until",
        "_queued",
        "_recovered",
        "_retry_timer",
        "_silent",
        "_slots",
        "_slow_requests",
        "_started",
    )

    def __init__(
        self,
        transport: Transport,
        random: Random,
        recovered: Callable[[], None],
        overdue: SlowRequestLimit | None = None,
    ) -> None:
        super().__init__(transport)
        self._slow_requests = overdue or SlowRequestLimit()
        self._recovered = recovered
        self._backoff = Backoff(random, first=FIRST_OPEN, longest=LONGEST_OPEN)
        self._started: dict[object, float] = {}  # by request, the oldest first
        self._slots = asyncio.Semaphore(MAX_IN_FLIGHT)
        self._queued = 0  # number of waiting requests
        self._open_until = 0.0
        self._silent = False
        self._retry_timer: asyncio.TimerHandle | None = None

    async def __call__(self, request: Request) -> Reply:
        if not self.over_network:
            return await self.transport(request)  # no slot is needed
        with yield_slot():
            return await self._send(request)

    async def _send(self, request: Request) -> Reply:
        await self._admit()
        token, loop = object(), asyncio.get_running_loop()
        began = self._started[token] = loop.time()
        try:
            async with asyncio.timeout(LONGEST_WAIT) as limit:
                late = loop.call_later(PROMPT, self._on_slow_answer, token, limit)
                try:
                    reply = await self.transport(request)
                finally:
                    late.cancel()
        except TimeoutError:
            self._open_circuit()
            raise Unreachable(f"no answer within {loop.time() - began:.3g} seconds") from None
        finally:
            del self._started[token]
            self._slow_requests.release(token)
            self._slots.release()
        self._close_circuit()
        return reply

    def _on_slow_answer(self, token: object, limit: asyncio.Timeout) -> None:
        if not self._slow_requests.acquire(token):
            limit.reschedule(asyncio.get_running_loop().time())

    async def _admit(self) -> None:
        """Acquire a slot for a request. Raises NotConnected if none becomes free soon."""
        now = asyncio.get_running_loop().time()
        if now < self._open_until:
            self._schedule_retry(self._open_until - now)
            raise NotConnected(
                f"{self.host} did not answer in time, and is left alone for "
                f"{self._open_until - now:.1f} more seconds"
            )
        if self._queued >= MAX_QUEUED:
            raise self._too_many_requests()
        self._queued += 1
        try:
            while not await self._try_acquire():
                if self._oldest() + PROMPT <= asyncio.get_running_loop().time():
                    raise self._too_many_requests()
        finally:
            self._queued -= 1

    async def _try_acquire(self) -> bool:
        """Acquire a slot for a request; return False if none becomes free within the time of a
        prompt response.
        """
        now = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(max(0.0, self._oldest() + PROMPT - now)):
                return await self._slots.acquire()
        except TimeoutError:
            return False

    def _oldest(self) -> float:
        """Return the start of the oldest request in flight."""
        return next(iter(self._started.values()), asyncio.get_running_loop().time())

    def _too_many_requests(self) -> NotConnected:
        self._schedule_retry(LONGEST_WAIT)
        return NotConnected(f"{MAX_IN_FLIGHT} requests are waiting for {self.host} to answer")

    def _schedule_retry(self, after: float) -> None:
        """Schedule a notification that refused requests may be tried again.

        It uses a timer because controllers wait for changes of the connection, and there are none
        while no request is sent: probes use another transport.
        """
        if self._retry_timer is None:
            self._retry_timer = asyncio.get_running_loop().call_later(after, self._on_retry_time)

    def _on_retry_time(self) -> None:
        self._retry_timer = None
        self._recovered()

    def cancel_retry(self) -> None:
        """Cancel the scheduled notification of controllers: another event will replace it."""
        if self._retry_timer is not None:
            self._retry_timer.cancel()
            self._retry_timer = None

    def _open_circuit(self) -> None:
        self._silent = True
        now = asyncio.get_running_loop().time()
        if now >= self._open_until:
            self._open_until = now + self._backoff.next()

    def _close_circuit(self) -> None:
        if self._silent:
            self._silent = False
            self._open_until = 0.0
            self._backoff.reset()
            self.cancel_retry()
            self._recovered()
