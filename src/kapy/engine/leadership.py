"""Leader election on a Lease, as client-go does it: one of several programs works.

A candidate watches the Lease. It takes it when the holder gave it up, or when the holder has not
renewed it for the Lease's duration by the candidate's own clock (the times in the Lease are of
other machines, and are for people). The holder renews it again and again; when it could not do so
for the renew deadline, it stops working: by the time that somebody else may take the Lease, this
program has been still for a while. When it can ask again, and nobody took the Lease meanwhile (the
server was away for all), it goes on where it stood; otherwise it ends (`LostLeadership`).

A program that was stopped (SIGSTOP, a suspended machine) does not know that time passed when it
wakes up. So every write passes `Fenced`, which looks at the clocks at the last moment: timers of a
machine that slept did not go on, but the time of day did.

Upstream: `k8s.io/client-go/tools/leaderelection`; names of Leases are those of upstream's managers,
which a manager of ours therefore never works beside.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Final, Protocol

from kapy._aio.clock import Clock
from kapy._aio.services import Service
from kapy.client.client import Client
from kapy.client.intercept import Interceptor
from kapy.engine.leases import Seen, given_up, lease_of
from kapy.engine.reflector import Reflector
from kapy.kube import Document, Key
from kapy.kube.errors import AlreadyExists, ApiError, Conflict, KapyError, NotFound, Unreachable
from kapy.kube.http import Reply, Request, Transport
from kapy.kube.micro_time import micro_time
from kapy.kube.names import LEASES

log = logging.getLogger(__name__)

JITTER: Final = 0.2
_READS: Final = frozenset(("GET", "HEAD"))


class NotLeading(KapyError):
    """A write was held back: somebody else may lead by now. Nothing was sent."""


class LostLeadership(KapyError):
    """The Lease was not renewed in time, or somebody else has it; this program must end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Who wants to lead what.

    lease: the Lease's key. identity: of this program, unlike any other's. duration: seconds
    without a renewal after which others may take the Lease. renew_deadline: seconds without one
    after which the holder gives up. retry_period: seconds between tries. labels: of the Lease.
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


class Leadership:
    """One candidate. client: of its own, not fenced. seen: the Lease, where somebody watches it
    already. leading: whether it leads now."""

    def __init__(
        self,
        client: Client,
        terms: Terms,
        clock: Clock,
        random: Random,
        seen: Seen | None = None,
    ) -> None:
        self.terms = terms
        self.leading = False
        self._client = client
        self._clock = clock
        self._random = random
        self._seen = seen or Seen()
        self._until = 0.0
        self._until_day = clock()
        self._matter = ""
        self._turn = asyncio.Lock()  # of writers of the Lease

    @property
    def holder(self) -> str:
        """Who leads, as far as is known; "" for nobody."""
        return self.terms.identity if self.leading else self._seen.holder

    def may_write(self) -> bool:
        """Whether nobody else can lead at this moment."""
        return (
            self.leading
            and asyncio.get_running_loop().time() < self._until
            and self._clock() < self._until_day
        )

    async def lead(self, work: Service) -> None:
        """Wait for the Lease, then run `work` for as long as it is held.

        When cancelled, the work is ended first and the Lease given up then, so that the next one
        need not wait. The work is begun again where the Lease could not be renewed, and nobody
        else took it. Raises LostLeadership, after the work has ended.
        """
        await self._acquire()
        await self.hold(work)

    async def hold(self, work: Service) -> None:
        """Run `work` for as long as the Lease is held that was got (`tried`), as `lead` does."""
        while True:
            try:
                await self._held(work)
            except LostLeadership as lost:
                log.error("%s; nothing is done until nobody else has it", lost)
                # Raises LostLeadership, which says who has it.
                await self._renewed(*self._now())
                self.leading = True
                log.info("%s leads again (lease %s)", self.terms.identity, self.terms.lease)

    async def _held(self, work: Service) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                working = group.create_task(_ended(work), name="work")
                try:
                    await self._renew()
                finally:
                    working.cancel()
        except BaseExceptionGroup as failures:
            raise first_of(failures) from None
        finally:
            await self._release()

    async def _acquire(self) -> None:
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(self._watch(), name="watch of the lease")
            while not await self.tried():
                await self._seen.free(self.terms.duration)
            watching.cancel()

    async def _watch(self) -> None:
        fields = f"metadata.name={self.terms.lease.name}"
        namespace = self.terms.lease.namespace
        await Reflector(
            self._client, LEASES, self._seen, self._random, fields=fields, namespace=namespace
        ).run()

    async def tried(self) -> bool:
        """Take the Lease if it can be had. Whatever fails counts as "not now"."""
        try:
            self.leading = await self._try()
        except (Conflict, AlreadyExists):
            pass  # somebody was quicker
        except (ApiError, Unreachable) as error:
            self._tell("get", error)
            await asyncio.sleep(self.terms.retry_period * (1 + JITTER * self._random.random()))
        if self.leading:
            log.info("%s leads (lease %s)", self.terms.identity, self.terms.lease)
        return self.leading

    async def note(self, annotations: Mapping[str, str]) -> None:
        """Write annotations on the Lease, tried until it is done.

        Raises LostLeadership when another one leads; cancelled when this one does not any more.
        """
        await self._renewed(*self._now(), annotations)

    async def _try(self) -> bool:
        asked = self._now()
        try:
            lease = await self._client.get(LEASES, self.terms.lease)
        except NotFound:
            spec = self._spec(acquired=self._clock(), transitions=0)
            lease = lease_of(self.terms.lease, spec, self.terms.labels)
            self._seen.note(await self._client.create(LEASES, lease))
            self._is_good_from(*asked)
            return True
        self._seen.note(lease)
        holder = self._seen.holder
        if holder != self.terms.identity and self._seen.left(self.terms.duration) > 0:
            return False
        transitions = int(lease["spec"].get("leaseTransitions") or 0)
        if holder != self.terms.identity:
            transitions += 1
        spec = self._spec(acquired=self._clock(), transitions=transitions)
        self._seen.note(await self._client.update(LEASES, {**lease, "spec": spec}))
        self._is_good_from(*asked)
        return True

    async def _renew(self) -> None:
        """Renew until that cannot be done any more. Raises LostLeadership."""
        while True:
            await asyncio.sleep(self.terms.retry_period)
            try:
                async with asyncio.timeout_at(self._until):
                    await self._renewed(*self._now())
            except TimeoutError:
                why = f"it was not renewed for {self.terms.renew_deadline:g} seconds"
                raise LostLeadership(f"lost lease {self.terms.lease}: {why}") from None

    async def _renewed(
        self, asked: float, day: datetime, annotations: Mapping[str, str] | None = None
    ) -> None:
        """One renewal, tried until it is done. Raises LostLeadership when another one leads."""
        while True:
            try:
                async with self._turn:
                    await self._write(annotations or {})
            except (ApiError, Unreachable) as error:
                self._tell("renew", error)
                await asyncio.sleep(self.terms.retry_period)
                asked, day = self._now()
            else:
                self._is_good_from(asked, day)
                return

    def _now(self) -> tuple[float, datetime]:
        return asyncio.get_running_loop().time(), self._clock()

    def _tell(self, what: str, error: Exception) -> None:
        """What is the matter, once."""
        why = f"cannot {what} lease {self.terms.lease}: {error}"
        log.log(logging.DEBUG if why == self._matter else logging.WARNING, "%s", why)
        self._matter = why

    def _is_good_from(self, asked: float, day: datetime) -> None:
        """The Lease was renewed by what was asked for at that time."""
        self._matter = ""
        self._until = max(self._until, asked + self.terms.renew_deadline)
        self._until_day = day + timedelta(seconds=self.terms.renew_deadline)

    async def _write(self, annotations: Mapping[str, str]) -> None:
        try:
            lease = await self._client.get(LEASES, self.terms.lease)
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
        self._seen.note(await self._client.update(LEASES, changed))

    async def _release(self) -> None:
        """Give the Lease up, if it is still ours."""
        was_sure, self.leading = self.may_write(), False
        if not was_sure:
            return
        try:
            async with asyncio.timeout(self.terms.retry_period):
                lease = await self._client.get(LEASES, self.terms.lease)
                spec = lease.get("spec") or {}
                if spec.get("holderIdentity") == self.terms.identity:
                    free = given_up(lease, self._clock())
                    self._seen.note(await self._client.update(LEASES, free))
                    log.info("%s gave lease %s up", self.terms.identity, self.terms.lease)
        except (ApiError, Unreachable, TimeoutError) as error:
            # The next one waits for the Lease's duration, as it would after a crash.
            log.warning("cannot give lease %s up: %s", self.terms.lease, error)

    def _spec(self, *, acquired: datetime, transitions: int) -> Document:
        return {
            "holderIdentity": self.terms.identity,
            "leaseDurationSeconds": round(self.terms.duration),
            "acquireTime": micro_time(acquired),
            "renewTime": micro_time(acquired),
            "leaseTransitions": transitions,
        }


class MayWrite(Protocol):
    """Who knows whose turn it is."""

    def may_write(self) -> bool:
        """Whether nobody else can lead at this moment."""
        ...


class Fenced(Interceptor):
    """Lets writes through only while a program leads."""

    __slots__ = ("_leadership",)

    def __init__(self, transport: Transport, leadership: MayWrite) -> None:
        super().__init__(transport)
        self._leadership = leadership

    async def __call__(self, request: Request) -> Reply:
        if request.method not in _READS and not self._leadership.may_write():
            raise NotLeading(f"not leading: {request.method} {request.path} was not sent")
        return await self.transport(request)


def first_of(failures: BaseExceptionGroup) -> BaseException:
    """What ended the others."""
    first = failures.exceptions[0]
    return first_of(first) if isinstance(first, BaseExceptionGroup) else first


async def _ended(work: Service) -> None:
    await work()
    raise RuntimeError("the work returned; it should go on until it is cancelled")
