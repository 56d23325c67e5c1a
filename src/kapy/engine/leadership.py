"""Leader election on a Lease, as client-go does it: one of several programs works.

A candidate watches the Lease. It takes it when the holder gave it up, or when the holder has not
renewed it for the Lease's duration by the candidate's own clock (the times in the Lease are of
other machines, and are for people). The holder renews it again and again; when it could not do so
for the renew deadline, it stops working and says so (`LostLeadership`): by the time that somebody
else may take the Lease, this program has been still for a while.

A program that was stopped (SIGSTOP, a suspended machine) does not know that time passed when it
wakes up. So every write passes `Fenced`, which looks at the clock at the last moment.

Upstream: `k8s.io/client-go/tools/leaderelection`; names of Leases are those of upstream's managers,
which a manager of ours therefore never works beside.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from random import Random
from typing import Final

from kapy._aio.clock import Clock
from kapy._aio.services import Service
from kapy.client.client import Client
from kapy.client.intercept import Interceptor
from kapy.client.stream import Event
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
    after which the holder gives up. retry_period: seconds between tries.
    """

    lease: Key
    identity: str
    duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0

    def __post_init__(self) -> None:
        if not self.duration > self.renew_deadline > (1 + JITTER) * self.retry_period > 0:
            raise ValueError(
                "the lease duration must be longer than the renew deadline, and that longer than "
                f"{1 + JITTER} retry periods (they are {self.duration:g}, "
                f"{self.renew_deadline:g} and {self.retry_period:g} seconds)"
            )


class Leadership:
    """One candidate. client: of its own, not fenced. leading: whether it leads now."""

    def __init__(self, client: Client, terms: Terms, clock: Clock, random: Random) -> None:
        self.terms = terms
        self.leading = False
        self._client = client
        self._clock = clock
        self._random = random
        self._seen = _Seen()
        self._until = 0.0

    @property
    def holder(self) -> str:
        """Who leads, as far as is known; "" for nobody."""
        return self.terms.identity if self.leading else self._seen.holder

    def may_write(self) -> bool:
        """Whether nobody else can lead at this moment."""
        return self.leading and asyncio.get_running_loop().time() < self._until

    def fenced(self, transport: Transport) -> Fenced:
        """The transport that lets writes through only while this program leads."""
        return Fenced(transport, self)

    async def lead(self, work: Service) -> None:
        """Wait for the Lease, then run `work` for as long as it is held.

        When cancelled, the work is ended first and the Lease given up then, so that the next one
        need not wait. Raises LostLeadership, after the work has ended.
        """
        await self._acquire()
        try:
            async with asyncio.TaskGroup() as group:
                working = group.create_task(_ended(work), name="work")
                try:
                    await self._renew()
                finally:
                    working.cancel()
        except BaseExceptionGroup as failures:
            # The first is what ended the others.
            raise failures.exceptions[0] from None
        finally:
            await self._release()

    async def _acquire(self) -> None:
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(self._watch(), name="watch of the lease")
            while not await self._tried():
                await self._seen.free(self.terms.duration)
            watching.cancel()
        self.leading = True
        log.info("%s leads (lease %s)", self.terms.identity, self.terms.lease)

    async def _watch(self) -> None:
        fields = f"metadata.name={self.terms.lease.name}"
        namespace = self.terms.lease.namespace
        await Reflector(
            self._client, LEASES, self._seen, self._random, fields=fields, namespace=namespace
        ).run()

    async def _tried(self) -> bool:
        """Take the Lease if it can be had. Whatever fails counts as "not now"."""
        try:
            return await self._try()
        except (Conflict, AlreadyExists):
            return False  # somebody was quicker
        except (ApiError, Unreachable) as error:
            log.error("cannot get lease %s: %s", self.terms.lease, error)
            await asyncio.sleep(self.terms.retry_period * (1 + JITTER * self._random.random()))
            return False

    async def _try(self) -> bool:
        asked = asyncio.get_running_loop().time()
        try:
            lease = await self._client.get(LEASES, self.terms.lease)
        except NotFound:
            spec = self._spec(acquired=self._clock(), transitions=0)
            await self._client.create(LEASES, _lease(self.terms.lease, spec))
            self._until = asked + self.terms.renew_deadline
            return True
        self._seen.note(lease)
        holder = self._seen.holder
        if holder != self.terms.identity and self._seen.left(self.terms.duration) > 0:
            return False
        transitions = int(lease["spec"].get("leaseTransitions") or 0)
        if holder != self.terms.identity:
            transitions += 1
        spec = self._spec(acquired=self._clock(), transitions=transitions)
        await self._client.update(LEASES, {**lease, "spec": spec})
        self._until = asked + self.terms.renew_deadline
        return True

    async def _renew(self) -> None:
        """Renew until that cannot be done any more. Raises LostLeadership."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(self.terms.retry_period)
            try:
                async with asyncio.timeout_at(self._until):
                    await self._renewed(loop.time())
            except TimeoutError:
                why = f"it was not renewed for {self.terms.renew_deadline:g} seconds"
                raise LostLeadership(f"lost lease {self.terms.lease}: {why}") from None

    async def _renewed(self, asked: float) -> None:
        """One renewal, tried until it is done. Raises LostLeadership when another one leads."""
        while True:
            try:
                lease = await self._client.get(LEASES, self.terms.lease)
                spec = lease.get("spec") or {}
                if spec.get("holderIdentity") != self.terms.identity:
                    other = spec.get("holderIdentity") or "nobody"
                    raise LostLeadership(f"lost lease {self.terms.lease}: {other} has it")
                renewed = {**spec, "renewTime": micro_time(self._clock())}
                await self._client.update(LEASES, {**lease, "spec": renewed})
            except (ApiError, Unreachable) as error:
                log.warning("cannot renew lease %s: %s", self.terms.lease, error)
                await asyncio.sleep(self.terms.retry_period)
                asked = asyncio.get_running_loop().time()
            else:
                self._until = asked + self.terms.renew_deadline
                return

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
                    given_up = {**spec, "holderIdentity": "", "leaseDurationSeconds": 1}
                    given_up["renewTime"] = micro_time(self._clock())
                    await self._client.update(LEASES, {**lease, "spec": given_up})
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


class Fenced(Interceptor):
    """Lets writes through only while a program leads."""

    __slots__ = ("_leadership",)

    def __init__(self, transport: Transport, leadership: Leadership) -> None:
        super().__init__(transport)
        self._leadership = leadership

    async def __call__(self, request: Request) -> Reply:
        if request.method not in _READS and not self._leadership.may_write():
            raise NotLeading(f"not leading: {request.method} {request.path} was not sent")
        return await self.transport(request)


class _Seen:
    """The Lease as a candidate saw it last, and when that was by its own clock."""

    def __init__(self) -> None:
        self.holder = ""
        self._version = ""
        self._lasts = 0.0
        self._since = 0.0
        self._given_up = asyncio.Event()

    def note(self, lease: Document) -> None:
        """It was read. Only a Lease that changed is a sign of life."""
        version = lease["metadata"].get("resourceVersion", "")
        if version == self._version:
            return
        spec = lease.get("spec") or {}
        self._version = version
        self.holder = spec.get("holderIdentity") or ""
        self._lasts = float(spec.get("leaseDurationSeconds") or 0)
        self._since = asyncio.get_running_loop().time()

    def left(self, at_least: float) -> float:
        """Seconds until it may be taken, if nothing else happens."""
        if not self.holder:
            return 0.0
        ends = self._since + max(self._lasts, at_least)
        return max(0.0, ends - asyncio.get_running_loop().time())

    async def free(self, at_least: float) -> None:
        """Wait until it may be taken.

        Its holder giving it up is watched. The timer is the Lease's own: nothing tells that
        somebody does not renew.
        """
        while (left := self.left(at_least)) > 0:
            self._given_up.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._given_up.wait()

    def replace(self, items: Sequence[Document], version: str) -> bool:
        """Take in a list, for the reflector."""
        del version
        for lease in items:
            self._take(lease)
        return True

    def rewind(self) -> None:
        """Distrust what is known; what is read next is noted anyway."""

    def take(self, event: Event) -> None:
        """Take in an event, for the reflector."""
        if event.type == "DELETED":
            self.holder = self._version = ""
            self._given_up.set()
        elif event.type in ("ADDED", "MODIFIED"):
            self._take(event.document)

    def _take(self, lease: Document) -> None:
        self.note(lease)
        if not self.holder:
            self._given_up.set()


async def _ended(work: Service) -> None:
    await work()
    raise RuntimeError("the work returned; it should go on until it is cancelled")


def _lease(key: Key, spec: Document) -> Document:
    return {
        "apiVersion": LEASES.api_version,
        "kind": LEASES.kind,
        "metadata": {"name": key.name, "namespace": key.namespace},
        "spec": spec,
    }
