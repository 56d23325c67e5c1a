"""Faults on the way to a server, played from a seed.

    faulty = Faults(server.transport(ADMIN), Rates(lost_answer=0.05, watch_breaks=0.1), seed=7)
    runtime = Runtime.on(faulty, clock=clock)
    ...
    faulty.calm()          # from here on everything works: now the plane must converge

A fault happens before the server receives the request, or after the server has executed it; the
client cannot tell which. The same seed and the same requests give the same faults.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from kapy.client.intercept import Interceptor
from kapy.engine.reflector import INITIAL_END
from kapy.kube import Document
from kapy.kube.errors import (
    ApiError,
    Conflict,
    Expired,
    ServerError,
    TooManyRequests,
    Unreachable,
)
from kapy.kube.http import Reply, Request, Transport

_WRITES: Final = {"POST", "PUT", "PATCH", "DELETE"}


@dataclass(frozen=True, slots=True)
class Rates:
    """The probability of each fault, per request (of a watch: when it is opened and after each
    event but the initial ones, which are the response to a list).

    lost_request: no response; the request was not executed. lost_answer: no response; the request
    was executed. conflict: 409 for an update or a patch. throttled: 429 with Retry-After of a
    second. broken: 500. watch_breaks: the stream ends with an error. watch_expires: the stream ends
    with 410. stale_list: an earlier state of a list. delay: the maximum delay before and after a
    request, in seconds. again: an event is repeated. late: the maximum delay of watch events in
    seconds; delayed events arrive together and in order.
    """

    lost_request: float = 0.0
    lost_answer: float = 0.0
    conflict: float = 0.0
    throttled: float = 0.0
    broken: float = 0.0
    watch_breaks: float = 0.0
    watch_expires: float = 0.0
    stale_list: float = 0.0
    delay: float = 0.0
    again: float = 0.0
    late: float = 0.0


BAD_DAY: Final = Rates(
    lost_request=0.03,
    lost_answer=0.03,
    conflict=0.05,
    throttled=0.03,
    broken=0.03,
    watch_breaks=0.03,
    watch_expires=0.01,
    stale_list=0.1,
    delay=0.05,
)
"""Rates with which every kind of fault happens now and then."""

CALM: Final = Rates()


class Faults(Interceptor):
    """A transport that injects faults; `happened` counts them."""

    def __init__(self, transport: Transport, rates: Rates = BAD_DAY, *, seed: int = 0) -> None:
        super().__init__(transport)
        self.rates = rates
        self.happened: Counter[str] = Counter()
        self._random = Random(seed)
        self._lists: dict[tuple[str, str], list[Reply]] = {}

    def calm(self) -> None:
        """Stop injecting faults, so that all further requests work."""
        self.rates = CALM

    async def __call__(self, request: Request) -> Reply:
        rates = self.rates
        await self._pause(rates.delay)
        error = self._before(request)
        if isinstance(error, Unreachable):
            raise error
        if isinstance(error, ApiError):
            return _failure(error)
        reply = await self.transport(request)
        await self._pause(rates.delay)
        if "watch" in request.query and reply.status < 400:
            events = _FaultyEvents(reply.body, self, initial=_has_initial_events(request))
            return Reply(reply.status, events, reply.headers)
        if self._happens("lost answer", rates.lost_answer):
            raise Unreachable("the answer was lost")
        return self._perhaps_stale(request, reply)

    def _before(self, request: Request) -> Unreachable | ApiError | None:
        rates = self.rates
        if self._happens("lost request", rates.lost_request):
            return Unreachable("the request was lost")
        if request.method in ("PUT", "PATCH") and self._happens("conflict", rates.conflict):
            return Conflict("the object has been modified; please apply your changes again")
        if self._happens("throttled", rates.throttled):
            return TooManyRequests("too many requests, please try again later", retry_after=1.0)
        if self._happens("broken", rates.broken):
            return ServerError("etcdserver: request timed out")
        return None

    def _perhaps_stale(self, request: Request, reply: Reply) -> Reply:
        """Return an earlier state of a list instead, as a lagging server does; single reads are
        never stale."""
        if request.method in _WRITES or reply.status != 200 or not _is_list(reply):
            return reply
        replies = self._lists.setdefault((request.path, str(sorted(request.query.items()))), [])
        replies.append(reply)
        del replies[:-3]
        if len(replies) > 1 and self._happens("stale list", self.rates.stale_list):
            return replies[0]
        return reply

    def _happens(self, fault: str, rate: float) -> bool:
        if rate <= 0 or self._random.random() >= rate:
            return False
        self.happened[fault] += 1
        return True

    async def _pause(self, longest: float) -> None:
        if longest > 0:
            await asyncio.sleep(self._random.random() * longest)

    async def lag(self) -> float:
        """Wait for the delay of an event; return the time at which the delay ends."""
        await self._pause(self.rates.late)
        return asyncio.get_running_loop().time()

    def repeats(self) -> bool:
        """Return whether the watch delivers an event twice."""
        return self._happens("again", self.rates.again)

    def watch_fault(self) -> Unreachable | Document | None:
        """Return the next fault of a watch: it breaks, it gets an ERROR event, or none."""
        if self._happens("watch breaks", self.rates.watch_breaks):
            return Unreachable("the watch broke")
        if self._happens("watch expires", self.rates.watch_expires):
            return {"type": "ERROR", "object": Expired("too old resource version").status()}
        return None


class _FaultyEvents:
    """The events of a watch, with faults. initial: whether it begins with the existing objects, up
    to a bookmark.
    """

    def __init__(self, events: Any, faults: Faults, *, initial: bool) -> None:
        self._events = events
        self._faults = faults
        self._initial = initial
        self._opened = False
        self._again: Document | None = None
        self._caught_up = -1.0

    def __aiter__(self) -> AsyncIterator[Document]:
        return self

    async def __anext__(self) -> Document:
        if not (self._initial and self._opened):
            fault = self._faults.watch_fault()
            if isinstance(fault, Unreachable):
                raise fault
            if fault is not None:
                return fault
        self._opened = True
        event: Document
        if self._again is not None:
            event, self._again = self._again, None
            return event
        event = await self._events.__anext__()
        if self._initial and _ends_initial_events(event):
            self._initial = False
        now = asyncio.get_running_loop().time()
        if self._faults.rates.late and now > self._caught_up:
            # Later events wait behind this one, and are then delivered at once.
            self._caught_up = await self._faults.lag()
        self._again = event if self._faults.repeats() else None
        return event

    async def aclose(self) -> None:
        await self._events.aclose()


def _has_initial_events(request: Request) -> bool:
    return request.query.get("sendInitialEvents") == "true"


def _ends_initial_events(event: Document) -> bool:
    annotations = event["object"]["metadata"].get("annotations") or {}
    return event["type"] == "BOOKMARK" and annotations.get(INITIAL_END) == "true"


def _is_list(reply: Reply) -> bool:
    return isinstance(reply.body, dict) and isinstance(reply.body.get("items"), list)


def _failure(error: ApiError) -> Reply:
    headers = {} if error.retry_after is None else {"retry-after": str(error.retry_after)}
    return Reply(error.code, error.status(), headers)
