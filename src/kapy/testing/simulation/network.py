"""The network between a manager and its servers: latencies and faults, from a seed."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import datetime, timedelta
from email.utils import format_datetime
from random import Random
from typing import Any, Final, Protocol

from kapy._aio.clock import Clock
from kapy.client.intercept import Interceptor
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
from kapy.testing.simulation.coverage import pair_of
from kapy.testing.simulation.event_loop import SimulationLoop
from kapy.testing.simulation.points import Fault, Point
from kapy.testing.simulation.trace import Trace

READS: Final = frozenset(("GET", "HEAD"))
DEADLINE: Final = 30.0
"""Seconds after which a client gives up a request."""
LATE: Final = 60.0
STOPPED: Final = 60.0
UNAVAILABLE: Final = 30.0
STALE: Final = 20.0
CLOCK_JUMP: Final = timedelta(hours=1)
STORM: Final = 10
REMEMBERED: Final = 100
"""The number of last writes of a process whose events are recognized as its own: events arrive
within a second."""
LATENCY: Final = 0.004
EVENT_LATENCY: Final = 0.02


class ServiceUnavailable(ApiError):
    """The server cannot handle requests at the moment (503)."""

    code = 503
    reason = "ServiceUnavailable"


class ProcessEnded(Unreachable):
    """The process that sends the request has ended."""


Decide = Callable[[Point, Request | None], Fault | None]
"""Decides which fault happens at a point, None for none."""


class Points:
    """Counts the points of a run at which a fault may happen."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], int] = {}

    def next(self, manager: str, letter: str, *, is_known: bool = False) -> Point:
        """Count a request or an event of a manager and return its point."""
        number = self._counts[manager, letter] = self._counts.get((manager, letter), 0) + 1
        return Point(manager, letter, number, is_known)

    def counts(self) -> dict[tuple[str, str], int]:
        """Return how many points there were, by manager and letter."""
        return dict(self._counts)


class ServerState:
    """Faults of servers that concern every client. full_until: the time until which every write to
    the management cluster is refused. etcd_down_until: the time until which etcd of workload
    clusters has no quorum."""

    def __init__(self) -> None:
        self.full_until = -1.0
        self.etcd_down_until = -1.0


class ManagerState:
    """Faults that concern every process of one manager."""

    def __init__(self) -> None:
        self.conflicts = 0
        self.unavailable_until = -1.0
        self.workload_down_until = -1.0
        self.workload_silent_until = -1.0
        self.hooks_down_until = -1.0
        self.cloud_down_until = -1.0
        self.clock_error = timedelta()


class Process(Protocol):
    """The process whose requests a network carries. stopped_until: the time until which it is
    stopped. lease_down_until: the time until which requests about its Lease are lost. clock_error:
    the time by which its clock is ahead of the clocks of the manager's other processes. written:
    the resourceVersions of its last writes that got a response."""

    manager: str
    is_alive: bool
    state: ManagerState
    stopped_until: float
    lease_down_until: float
    clock_error: timedelta
    written: set[str]

    def crash(self) -> None:
        """End the process at once."""
        ...

    def start_second(self) -> None:
        """Start a second process of the same manager."""
        ...


class Surroundings(Protocol):
    """The environment of the managers: servers and machines that fail as a whole."""

    def restore_server(self) -> None:
        """Restore the management cluster's API server from a backup: resourceVersions go back."""
        ...

    def restore_backup(self) -> None:
        """Restore the management cluster's API server from a backup of some seconds ago."""
        ...

    def restore_workloads(self) -> None:
        """Restore the API servers of workload clusters."""
        ...

    def move_etcd_leaders(self) -> None:
        """Let etcd of each workload cluster elect another leader."""
        ...

    def delay_etcd_members(self) -> None:
        """Let the next members of etcd be listed for a while before they start."""
        ...

    def flap_nodes(self) -> None:
        """Let a Node of each workload cluster be ready and not ready in turn for a while."""
        ...


class Network:
    """The state that all networks of one run share. clock: the clock of the API server.
    workload_clock_error: the time by which the clocks of workload clusters are ahead of it.
    surroundings: the faults that concern neither a request nor a manager. pairs: the pairs of a
    fault and the state in which it happened."""

    def __init__(self, seed: int, trace: Trace, decide: Decide, clock: Clock) -> None:
        self.trace = trace
        self.clock = clock
        self.decide = decide
        self.points = Points()
        self.server = ServerState()
        self.workload_clock_error = timedelta()
        self.surroundings: Surroundings | None = None
        self.is_counting = False
        self.pairs: set[str] = set()
        self.describe_state: Callable[[], str] = str
        self.is_disturbed = False
        self.delayed: list[Callable[[], Awaitable[None]]] = []
        self.spawn: Callable[[Callable[[], Awaitable[None]]], None] | None = None
        self.requests: dict[str, int] = {}
        self._seed = seed
        self._randoms: dict[str, Random] = {}

    def workload_clock(self) -> datetime:
        """Return the time by the clocks of workload clusters."""
        return self.clock() + self.workload_clock_error

    def latency(self, name: str, most: float) -> float:
        """Return the next latency of a stream of requests or events."""
        random = self._randoms.get(name)
        if random is None:
            random = self._randoms[name] = Random(f"{self._seed}/latency/{name}")
        return random.random() * most

    def fault(
        self, process: Process, letter: str, request: Request | None, *, is_known: bool = False
    ) -> Fault | None:
        """Count a point, and return the fault that happens there, if any."""
        if not self.is_counting:
            return None
        point = self.points.next(process.manager, letter, is_known=is_known)
        fault = self.decide(point, request)
        if fault is not None:
            self.is_disturbed = True
            text, state = text_of(request), self.describe_state()
            self.pairs.add(pair_of(fault.kind, process.manager, text, state))
            self.trace.add("fault", fault=fault.kind, point=str(point), request=text_of(request))
        return fault


def text_of(request: Request | None) -> str:
    """Return a request's method and path as text for the trace."""
    return "" if request is None else f"{request.method} {request.path}"


def loop_time() -> float:
    """Return the seconds of the running loop."""
    return asyncio.get_running_loop().time()


async def _end_of_process() -> Reply:
    """Wait for the cancellation of a process that has ended."""
    answer: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
    return await answer


class ProcessNetwork(Interceptor):
    """A connection of one process, with latencies and faults. shared: the state by which they are
    decided.
    """

    __slots__ = ("_process", "_shared")

    def __init__(self, transport: Transport, process: Process, shared: Network) -> None:
        super().__init__(transport)
        self._process = process
        self._shared = shared


class ManagerNetwork(ProcessNetwork):
    """The connection of one process to the API server of the management cluster."""

    __slots__ = ()

    async def __call__(self, request: Request) -> Reply:
        await self._travel()
        if "watch" in request.query:
            return await self._watch(request)
        is_read = request.method in READS
        fault = self._shared.fault(self._process, "r" if is_read else "w", request)
        name = self._process.manager
        self._shared.requests[name] = self._shared.requests.get(name, 0) + 1
        refusal = self._refusal(request, is_read=is_read)
        if fault is None and refusal is not None:
            return _failure(refusal)
        reply = await (self._send(request) if fault is None else self._disturb(request, fault))
        reply = dated(reply, self._shared.clock())
        await self._travel()
        if not is_read and reply.status < 300 and isinstance(reply.body, dict):
            self._remember_write(_version(reply.body))
        return reply

    def _remember_write(self, version: str) -> None:
        written = self._process.written
        if len(written) >= REMEMBERED:
            written.clear()
        written.add(version)

    async def _send(self, request: Request) -> Reply:
        reply = await self.transport(request)
        if request.method not in READS:
            self._shared.trace.add(
                "write", by=self._process.manager, request=text_of(request), status=reply.status
            )
        return reply

    async def _travel(self) -> None:
        process = self._process
        if not process.is_alive:
            raise ProcessEnded("the process has ended")
        await asyncio.sleep(self._shared.latency(process.manager, LATENCY))
        await asyncio.sleep(max(0.0, process.stopped_until - loop_time()))
        if not process.is_alive:
            raise ProcessEnded("the process has ended")

    def _refusal(self, request: Request, *, is_read: bool) -> ApiError | None:
        state, now = self._process.state, loop_time()
        if not is_read and now < self._shared.server.full_until:
            return ServerError("etcdserver: mvcc: database space exceeded")
        if now < state.unavailable_until:
            return ServiceUnavailable("the server is currently unable to handle the request")
        if state.conflicts and request.method in ("PUT", "PATCH"):
            state.conflicts -= 1
            return Conflict("the object has been modified; please apply your changes again")
        return None

    async def _disturb(self, request: Request, fault: Fault) -> Reply:
        """Carry a request with a fault."""
        ending = _ENDINGS.get(fault.kind)
        if ending is not None:
            return await ending(self, request)
        self._begin(fault.kind)
        error = _ERRORS.get(fault.kind) or self._refusal(request, is_read=request.method in READS)
        return await self._send(request) if error is None else _failure(error)

    def _begin(self, kind: str) -> None:
        """Begin a fault that lasts for some time."""
        match kind:
            case "conflict-storm":
                self._process.state.conflicts = STORM
            case "unavailable":
                self._process.state.unavailable_until = loop_time() + UNAVAILABLE
            case "storage-full":
                self._shared.server.full_until = loop_time() + LATE
            case "second-leader":
                self._process.start_second()
            case "restored":
                assert self._shared.surroundings is not None
                self._shared.surroundings.restore_server()
            case "lease-down":
                self._process.lease_down_until = loop_time() + LATE
            case _ if kind in _JUMPS:
                of_all, jump = _JUMPS[kind]
                clock = self._process.state if of_all else self._process
                clock.clock_error += jump

    async def _crash_before(self, _: Request) -> Reply:
        self._process.crash()
        return await _end_of_process()

    async def _crash_after(self, request: Request) -> Reply:
        await self._send(request)
        self._process.crash()
        return await _end_of_process()

    async def _lose_request(self, _: Request) -> Reply:
        raise Unreachable("the request was lost")

    async def _lose_reply(self, request: Request) -> Reply:
        await self._send(request)
        raise Unreachable("the reply was lost")

    async def _restore_backup(self, _: Request) -> Reply:
        # The server is away for longer than a Lease lasts, so that every manager ends.
        assert self._shared.surroundings is not None
        self._shared.surroundings.restore_backup()
        self._process.crash()
        return await _end_of_process()

    async def _stop(self, request: Request) -> Reply:
        # The request waits in the socket of the stopped process.
        loop = asyncio.get_running_loop()
        assert isinstance(loop, SimulationLoop)
        loop.stop_process(self._process, loop.time() + STOPPED)
        await self._travel()
        return await self._send(request)

    async def _late(self, request: Request) -> Reply:
        async def apply() -> None:
            await asyncio.sleep(LATE)
            self._shared.trace.add("late write", request=text_of(request))
            await self._send(request)

        assert self._shared.spawn is not None
        self._shared.spawn(apply)
        await asyncio.sleep(DEADLINE)
        raise Unreachable("the request timed out")

    async def _watch(self, request: Request) -> Reply:
        if loop_time() < self._process.state.unavailable_until:
            return _failure(ServiceUnavailable("the server is currently unable to answer"))
        reply = await self.transport(request)
        if reply.status >= 400 or isinstance(reply.body, dict | bytes):
            return reply
        events = _Events(reply.body, self._process, self._shared)
        return Reply(reply.status, events, reply.headers)


_JUMPS: Final = {
    "clock-ahead": (True, CLOCK_JUMP),
    "clock-behind": (True, -CLOCK_JUMP),
    "candidate-ahead": (False, CLOCK_JUMP),
    "candidate-behind": (False, -CLOCK_JUMP),
}
"""Faults of clocks: whether all processes of the manager are affected, and the jump."""

_ERRORS: Final[dict[str, ApiError]] = {
    "conflict": Conflict("the object has been modified; please apply your changes again"),
    "throttled": TooManyRequests("too many requests, please try again later", retry_after=1.0),
    "broken": ServerError("etcdserver: request timed out"),
}


_ENDINGS: Final[dict[str, Callable[[ManagerNetwork, Request], Awaitable[Reply]]]] = {
    "crash-before": ManagerNetwork._crash_before,
    "crash-after": ManagerNetwork._crash_after,
    "lost-request": ManagerNetwork._lose_request,
    "lost-reply": ManagerNetwork._lose_reply,
    "late": ManagerNetwork._late,
    "stopped": ManagerNetwork._stop,
    "backup-restored": ManagerNetwork._restore_backup,
}
"""The methods for faults that decide about the whole response."""


class _Events:
    """The events of a watch in their order, delivered after a delay."""

    def __init__(self, events: Any, process: Process, shared: Network) -> None:
        self._events = events
        self._process = process
        self._shared = shared
        self._again: deque[Document] = deque()
        self._until = -1.0
        self._ends_at: float | None = None

    def __aiter__(self) -> AsyncIterator[Document]:
        return self

    async def __anext__(self) -> Document:
        if self._again:
            return self._again.popleft()
        if self._ends_at is not None:
            # Nothing of this time arrives any more.
            await asyncio.sleep(self._ends_at - loop_time())
            return _gone()
        event: Document = await self._events.__anext__()
        if event["type"] == "BOOKMARK":
            return event
        is_known = _version(event["object"]) in self._process.written
        fault = self._shared.fault(self._process, "e", None, is_known=is_known)
        if fault is not None:
            answer = self._disturb(event, fault)
            if answer is not None:
                return answer
            if self._ends_at is not None:
                return await anext(self)
        if (now := loop_time()) >= self._until:
            # Later events wait behind this one, and are then sent at once.
            name = f"{self._process.manager}/events"
            self._until = now + self._shared.latency(name, EVENT_LATENCY)
        self._until = max(self._until, self._process.stopped_until)
        if self._until > now:
            await asyncio.sleep(self._until - now)
        return event

    def _disturb(self, event: Document, fault: Fault) -> Document | None:
        match fault.kind:
            case "expired":
                return _gone()
            case "gap":
                self._ends_at = loop_time() + STALE
            case "watch-broken":
                raise Unreachable("the watch ended")
            case "repeated":
                self._again.append(event)
            case "stale":
                self._until = loop_time() + STALE
        return None

    async def aclose(self) -> None:
        await self._events.aclose()


def _version(document: Document) -> str:
    return str((document.get("metadata") or {}).get("resourceVersion", ""))


def _gone() -> Document:
    return {"type": "ERROR", "object": Expired("too old resource version").status()}


def dated(reply: Reply, now: datetime) -> Reply:
    """Return a reply with a date, as every HTTP server sends it."""
    return replace(reply, headers={**reply.headers, "date": format_datetime(now, usegmt=True)})


def _failure(error: ApiError) -> Reply:
    headers = {} if error.retry_after is None else {"retry-after": str(error.retry_after)}
    return Reply(error.code, error.status(), headers)
