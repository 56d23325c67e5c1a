"""Leader election on a Lease, as client-go does it: one of several programs works.

A candidate watches the Lease. It takes it when the holder gave it up, or when the holder has not
renewed it for the Lease's duration by the candidate's own clock (the times in the Lease are of
other machines, and are for people). The holder renews it again and again; when it could not do so
for the renew deadline, it stops working: by the time that somebody else may take the Lease, this
program has been still for a while. When it can ask again, and nobody took the Lease meanwhile (the
server was away for all), it goes on where it stood; otherwise it ends (`LostLeadership`).

A request that gets no answer is given up early enough for another one to succeed before the renew
deadline. It closes its connection, so the next request gets a new one if nobody else shares the
client's transport.

A program that was stopped (SIGSTOP, a suspended machine) does not know that time passed when it
wakes up. So every write passes `Fenced`, which looks at the clocks at the last moment: timers of a
machine that slept did not go on, but the time of day did.

Upstream: `k8s.io/client-go/tools/leaderelection`; names of Leases are those of upstream's managers,
which a manager of ours therefore never works beside.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import TYPE_CHECKING, Final, Protocol

from kapy._aio.clock import Clock
from kapy._aio.services import Service
from kapy.client.client import Client
from kapy.client.intercept import Interceptor
from kapy.engine.leases import ObservedLease, lease_of, released_lease
from kapy.engine.reflector import Reflector
from kapy.kube import Document, Key
from kapy.kube.errors import AlreadyExists, ApiError, Conflict, KapyError, NotFound, Unreachable
from kapy.kube.http import Reply, Request, Transport
from kapy.kube.meta import micro_time
from kapy.kube.names import LEASES
from kapy.kube.prometheus import gauge

if TYPE_CHECKING:
    from prometheus_client.core import Metric

log = logging.getLogger(__name__)

JITTER: Final = 0.2
_READS: Final = frozenset(("GET", "HEAD"))


class NotLeading(KapyError):
    """A write was refused because another program may be the leader by now. Nothing was sent."""


class RequestTimeout(Unreachable):
    """A request got no response within `LeaderElectionConfig.request_timeout`."""


class LostLeadership(KapyError):
    """The Lease was not renewed in time, or another program holds it; this program must end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderElectionConfig:
    """The configuration of leader election.

    lease: the Lease's key. identity: the name of this candidate, which is unique to this program.
    duration: seconds without a renewal after which others may take the Lease. renew_deadline:
    seconds without a renewal after which the holder gives up. retry_period: seconds between tries.
    labels: the labels of the Lease. request_timeout: seconds after which a request without a
    response is sent again.
    """

    lease: Key
    identity: str
    duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0
    labels: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.duration > self.renew_deadline > (1 + JITTER) * self.retry_period > 0:
            raise ValueError(
                "the lease duration must be longer than the renew deadline, and that longer than "
                f"{1 + JITTER} retry periods (they are {self.duration:g}, "
                f"{self.renew_deadline:g} and {self.retry_period:g} seconds)"
            )

    @property
    def request_timeout(self) -> float:
        """A third of the renew deadline: two more requests fit into it."""
        return self.renew_deadline / 3


class LeaderElector:
    """A candidate in leader election, which becomes the leader while it holds the Lease. client:
    the candidate's own client, not fenced, on a transport that other requests do not use. observed:
    the state of the Lease, if it is watched already. leading: whether the candidate leads now.
    """

    def __init__(
        self,
        client: Client,
        terms: LeaderElectionConfig,
        clock: Clock,
        random: Random,
        observed: ObservedLease | None = None,
    ) -> None:
        self.terms = terms
        self.leading = False
        self._client = client
        self._clock = clock
        self._random = random
        self._seen = observed or ObservedLease()
        self._until = 0.0
        self._until_day = clock()
        self._matter = ""
        self._hurried = asyncio.Event()
        self._turn = asyncio.Lock()  # serializes writers of the Lease

    def collect(self) -> Iterable[Metric]:
        """Return the metric of client-go's leader election."""
        yield gauge(
            "leader_election_master_status",
            "1 while this program leads, else 0.",
            ["name"],
            [([self.terms.lease.name], float(self.leading))],
        )

    @property
    def holder(self) -> str:
        """The holder as far as is known; "" for none."""
        return self.terms.identity if self.leading else self._seen.holder

    def may_write(self) -> bool:
        """Return whether no other program can be the leader at this moment."""
        return (
            self.leading
            and asyncio.get_running_loop().time() < self._until
            and self._clock() < self._until_day
        )

    async def lead(self, work: Service) -> None:
        """Wait for the Lease, then run `work` while it is held.

        On cancellation, the work ends first and the Lease is released, so that the next leader need
        not wait. The work starts again if the Lease could not be renewed and no other program took
        it. Raises LostLeadership after the work has ended.
        """
        await self._acquire()
        await self.hold(work)

    async def hold(self, work: Service) -> None:
        """Run `work` while the acquired Lease (`try_acquire`) is held, as `lead` does."""
        while True:
            try:
                await self._run_while_held(work)
            except LostLeadership as lost:
                log.error("%s; this program waits until the Lease is free", lost)
                # Raises LostLeadership, which names the holder.
                await self._renew_once(*self._now())
                self.leading = True
                log.info("%s leads again (lease %s)", self.terms.identity, self.terms.lease)

    async def _run_while_held(self, work: Service) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                working = group.create_task(_wait_for_end(work), name="work")
                try:
                    await self._renew()
                finally:
                    working.cancel()
        except BaseExceptionGroup as failures:
            raise first_error(failures) from None
        finally:
            await self._release()

    async def _acquire(self) -> None:
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(self._watch(), name="watch of the lease")
            while not await self.try_acquire():
                await self._seen.wait_until_free(self.terms.duration)
            watching.cancel()

    async def _watch(self) -> None:
        fields = f"metadata.name={self.terms.lease.name}"
        namespace = self.terms.lease.namespace
        await Reflector(
            self._client, LEASES, self._seen, self._random, fields=fields, namespace=namespace
        ).run()

    async def try_acquire(self) -> bool:
        """Take the Lease if possible. Any failure counts as "not now"."""
        try:
            self.leading = await self._try()
        except (Conflict, AlreadyExists):
            pass  # another candidate was faster
        except (ApiError, Unreachable) as error:
            self._log_failure("get", error)
            await asyncio.sleep(self.terms.retry_period * (1 + JITTER * self._random.random()))
        if self.leading:
            log.info("%s leads (lease %s)", self.terms.identity, self.terms.lease)
        return self.leading

    def renew_now(self) -> None:
        """Renew the Lease at once, because it may be lost."""
        self._hurried.set()

    async def annotate_lease(self, annotations: Mapping[str, str]) -> None:
        """Write annotations on the Lease, retrying until it succeeds.

        Raises LostLeadership if another program leads; cancelled if this program stops leading.
        """
        await self._renew_once(*self._now(), annotations)

    async def _try(self) -> bool:
        request_time = self._now()
        try:
            lease = await self._in_time(self._client.get(LEASES, self.terms.lease))
        except NotFound:
            spec = self._spec(acquired=self._clock(), transitions=0)
            lease = lease_of(self.terms.lease, spec, self.terms.labels)
            created = await self._in_time(self._client.create(LEASES, lease))
            self._seen.observe(created, is_current=True)
            self._record_renewal(*request_time)
            return True
        self._seen.observe(lease, is_current=True)
        holder = self._seen.holder
        if holder != self.terms.identity and self._seen.remaining(self.terms.duration) > 0:
            return False
        transitions = int(lease["spec"].get("leaseTransitions") or 0)
        if holder != self.terms.identity:
            transitions += 1
        spec = self._spec(acquired=self._clock(), transitions=transitions)
        update = self._client.update(LEASES, {**lease, "spec": spec})
        self._seen.observe(await self._in_time(update), is_current=True)
        self._record_renewal(*request_time)
        return True

    async def _renew(self) -> None:
        """Renew the Lease until that fails. Raises LostLeadership."""
        while True:
            self._hurried.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(self.terms.retry_period):
                    await self._hurried.wait()
            try:
                async with asyncio.timeout_at(self._until):
                    await self._renew_once(*self._now())
            except TimeoutError:
                why = f"it was not renewed for {self.terms.renew_deadline:g} seconds"
                raise LostLeadership(f"lost lease {self.terms.lease}: {why}") from None

    async def _renew_once(
        self, request_time: float, day: datetime, annotations: Mapping[str, str] | None = None
    ) -> None:
        """Renew the Lease once, retrying until it succeeds.

        Raises LostLeadership if another program leads.
        """
        while True:
            try:
                async with self._turn:
                    await self._write(annotations or {})
            except (ApiError, Unreachable) as error:
                self._log_failure("renew", error)
                if not isinstance(error, RequestTimeout):  # that error came after a wait already
                    await asyncio.sleep(self.terms.retry_period)
                request_time, day = self._now()
            else:
                self._record_renewal(request_time, day)
                return

    def _now(self) -> tuple[float, datetime]:
        return asyncio.get_running_loop().time(), self._clock()

    def _log_failure(self, what: str, error: Exception) -> None:
        """Log a failed request for the Lease; a repetition of the last failure only at level
        DEBUG.
        """
        why = f"cannot {what} lease {self.terms.lease}: {error}"
        log.log(logging.DEBUG if why == self._matter else logging.WARNING, "%s", why)
        self._matter = why

    def _record_renewal(self, request_time: float, day: datetime) -> None:
        """Record a successful renewal; the lease is valid from the time the request was sent."""
        self._matter = ""
        self._until = max(self._until, request_time + self.terms.renew_deadline)
        self._until_day = day + timedelta(seconds=self.terms.renew_deadline)

    async def _write(self, annotations: Mapping[str, str]) -> None:
        try:
            lease = await self._in_time(self._client.get(LEASES, self.terms.lease))
        except NotFound:
            raise LostLeadership(f"lost lease {self.terms.lease}: it was deleted") from None
        spec = lease.get("spec") or {}
        if spec.get("holderIdentity") != self.terms.identity:
            other = spec.get("holderIdentity") or "nobody"
            raise LostLeadership(f"lost lease {self.terms.lease}: {other} has it")
        changed = {**lease, "spec": {**spec, "renewTime": micro_time(self._clock())}}
        if annotations:
            metadata = lease["metadata"]
            there = metadata.get("annotations") or {}
            changed["metadata"] = {**metadata, "annotations": {**there, **annotations}}
        written = await self._in_time(self._client.update(LEASES, changed))
        self._seen.observe(written, is_current=True)

    async def _in_time(self, request: Awaitable[Document]) -> Document:
        """Return the response to a request. Raises RequestTimeout, ApiError and Unreachable."""
        limit = self.terms.request_timeout
        try:
            async with asyncio.timeout(limit):
                return await request
        except TimeoutError:
            raise RequestTimeout(f"no answer within {limit:.3g} seconds") from None

    async def _release(self) -> None:
        """Release the Lease if this program still holds it."""
        was_sure, self.leading = self.may_write(), False
        if not was_sure:
            return
        try:
            async with asyncio.timeout(self.terms.retry_period):
                lease = await self._client.get(LEASES, self.terms.lease)
                spec = lease.get("spec") or {}
                if spec.get("holderIdentity") == self.terms.identity:
                    free = released_lease(lease, self._clock())
                    written = await self._client.update(LEASES, free)
                    self._seen.observe(written, is_current=True)
                    log.info("%s gave lease %s up", self.terms.identity, self.terms.lease)
        except (ApiError, Unreachable, TimeoutError) as error:
            # The next leader waits for the Lease's duration, as after a crash.
            log.warning("cannot give lease %s up: %s", self.terms.lease, error)

    def _spec(self, *, acquired: datetime, transitions: int) -> Document:
        return {
            "holderIdentity": self.terms.identity,
            "leaseDurationSeconds": round(self.terms.duration),
            "acquireTime": micro_time(acquired),
            "renewTime": micro_time(acquired),
            "leaseTransitions": transitions,
        }


class WritePermission(Protocol):
    """Decides whether this program may write."""

    def may_write(self) -> bool:
        """Return whether no other program can be the leader at this moment."""
        ...


class Fenced(Interceptor):
    """A transport that passes writes only while the program leads."""

    __slots__ = ("_leadership",)

    def __init__(self, transport: Transport, leadership: WritePermission) -> None:
        super().__init__(transport)
        self._leadership = leadership

    async def __call__(self, request: Request) -> Reply:
        if request.method not in _READS and not self._leadership.may_write():
            raise NotLeading(f"not leading: {request.method} {request.path} was not sent")
        return await self.transport(request)


def first_error(failures: BaseExceptionGroup) -> BaseException:
    """Return the error that caused the others to be cancelled."""
    first = failures.exceptions[0]
    return first_error(first) if isinstance(first, BaseExceptionGroup) else first


async def _wait_for_end(work: Service) -> None:
    await work()
    raise RuntimeError("the work returned; it should go on until it is cancelled")
