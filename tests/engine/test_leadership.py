"""Leader election: one works, and who lost the Lease writes nothing more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from random import Random

import pytest

from kapy._aio.clock import loop_clock
from kapy._aio.services import run_services
from kapy.apiserver.server import Server
from kapy.client.client import Client
from kapy.client.intercept import Interceptor
from kapy.engine.leadership import (
    Fenced,
    LeaderElectionConfig,
    LeaderElector,
    LostLeadership,
    NotLeading,
)
from kapy.engine.leases import ObservedLease, lease_of
from kapy.kube import Document, Key
from kapy.kube.errors import Unreachable
from kapy.kube.http import ADMIN, Reply, Request
from kapy.kube.names import CONFIG_MAPS, LEASES
from kapy.testing.virtual_time import VirtualTimeLoop

LEASE = Key("default", "controller-leader-election-capi")


class Line(Interceptor):
    """A way to the server that can be cut. lost: the next requests of these methods get no
    answer."""

    __slots__ = ("cut", "lost")

    def __init__(self, server: Server) -> None:
        super().__init__(server.transport(ADMIN))
        self.cut = False
        self.lost: list[str] = []

    async def __call__(self, request: Request) -> Reply:
        if request.method in self.lost and "watch" not in request.query:
            self.lost.remove(request.method)
            await asyncio.Event().wait()
        if self.cut:
            raise Unreachable("cut off")
        reply = await self.transport(request)
        if self.cut:
            raise Unreachable("cut off")
        return reply


class Candidate:
    """A program that notes what it does into a ConfigMap, once in a second, while it leads."""

    def __init__(self, server: Server, name: str) -> None:
        self.line = Line(server)
        terms = LeaderElectionConfig(lease=LEASE, identity=name)
        seed = Random(name)
        self.ahead, clock = timedelta(), loop_clock()
        self.leadership = LeaderElector(
            Client(self.line), terms, lambda: clock() + self.ahead, seed
        )
        self.client = Client(Fenced(self.line, self.leadership), field_manager=name)
        self.name = name
        self.wrote: list[float] = []
        self.starts = 0  # of its work
        self.task: asyncio.Task[None] | None = None

    async def work(self) -> None:
        self.starts += 1
        while True:
            await self.write()
            await asyncio.sleep(1)

    async def write(self) -> None:
        patch: Document = {"data": {"writer": self.name}}
        try:
            await self.client.patch(CONFIG_MAPS, Key("default", "notes"), patch)
        except (Unreachable, NotLeading):
            return
        self.wrote.append(asyncio.get_running_loop().time())


class Setup:
    def __init__(self, server: Server, group: asyncio.TaskGroup) -> None:
        self.server = server
        self.client = Client(server.transport(ADMIN))
        self.ended: dict[str, str] = {}
        self._group = group

    def candidate(self, name: str) -> Candidate:
        result = Candidate(self.server, name)
        result.task = self._group.create_task(self._run(result))
        return result

    async def _run(self, item: Candidate) -> None:
        try:
            await item.leadership.lead(item.work)
        except LostLeadership as error:
            self.ended[item.name] = str(error)

    async def lease(self) -> Document:
        spec: Document = (await self.client.get(LEASES, LEASE))["spec"]
        return spec


@asynccontextmanager
async def setup() -> AsyncIterator[Setup]:
    server = Server.open(None, clock=loop_clock())
    try:
        async with run_services(server=server.run), asyncio.TaskGroup() as group:
            await asyncio.sleep(1)
            here = Setup(server, group)
            notes: Document = {"metadata": {"name": "notes", "namespace": "default"}}
            await here.client.create(
                CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap", **notes}
            )
            tasks = asyncio.all_tasks()
            yield here
            for task in asyncio.all_tasks() - tasks:
                task.cancel()
    finally:
        server.close()


def none_at_once(first: Candidate, second: Candidate) -> bool:
    """Whether the first wrote nothing after the second began."""
    return not first.wrote or not second.wrote or max(first.wrote) < min(second.wrote)


async def test_a_stopped_leader_hands_over_to_the_other_candidate() -> None:
    async with setup() as here:
        item = here.candidate("one")
        await asyncio.sleep(3)
        two = here.candidate("two")
        await asyncio.sleep(60.5)
        assert len(item.wrote) > 60
        assert not two.wrote
        assert (item.leadership.leading, two.leadership.holder) == (True, "one")
        stopped = asyncio.get_running_loop().time()
        assert item.task is not None
        item.task.cancel()
        await asyncio.sleep(1)
        assert two.wrote[0] - stopped < 0.5
        assert none_at_once(item, two)
        spec = await here.lease()
        assert (spec["holderIdentity"], spec["leaseTransitions"]) == ("two", 1)
        assert spec["leaseDurationSeconds"] == 15


async def test_a_dead_leader_is_replaced_when_its_lease_expires() -> None:
    async with setup() as here:
        item = here.candidate("one")
        await asyncio.sleep(3)
        two = here.candidate("two")
        await asyncio.sleep(5)
        item.line.cut = True  # the machine is gone: nothing is given up
        assert item.task is not None
        item.task.cancel()
        died = asyncio.get_running_loop().time()
        await asyncio.sleep(20)
        assert 10 < two.wrote[0] - died <= 16


async def test_a_disconnected_leader_ends_before_another_begins() -> None:
    async with setup() as here:
        item = here.candidate("one")
        await asyncio.sleep(3)
        two = here.candidate("two")
        await asyncio.sleep(5)
        item.line.cut = True
        await asyncio.sleep(30)
        assert not item.leadership.leading
        item.line.cut = False
        await item.write()
        await asyncio.sleep(3)
        assert here.ended == {"one": f"lost lease {LEASE}: two has it"}
        assert two.wrote
        assert none_at_once(item, two)


async def test_a_leader_continues_after_an_outage_of_the_server() -> None:
    async with setup() as here:
        item = here.candidate("one")
        await asyncio.sleep(3)
        two = here.candidate("two")
        item.line.cut = two.line.cut = True
        cut = asyncio.get_running_loop().time()
        await asyncio.sleep(600)
        assert max(item.wrote) - cut < 1
        item.line.cut = two.line.cut = False
        back = asyncio.get_running_loop().time()
        await asyncio.sleep(5)
        assert max(item.wrote) > back
        await asyncio.sleep(60)
        assert not two.wrote
        assert here.ended == {}


@pytest.mark.parametrize("lost", [["GET"], ["PUT"], ["GET", "PUT"]])
async def test_a_renewal_that_gets_no_answer_costs_no_lease(lost: list[str]) -> None:
    async with setup() as here:
        item = here.candidate("one")
        await asyncio.sleep(3)
        two = here.candidate("two")
        await asyncio.sleep(20)
        item.line.lost = list(lost)
        await asyncio.sleep(60)
        assert (item.line.lost, two.wrote, here.ended) == ([], [], {})
        assert item.starts == 1


@pytest.mark.parametrize("lost", ["GET", "POST", "PUT"])
async def test_a_candidate_that_gets_no_answer_asks_again(lost: str) -> None:
    async with setup() as here:
        if lost == "PUT":
            await here.client.create(LEASES, lease_of(LEASE, {}, {}))
        item = here.candidate("one")
        item.line.lost = [lost]
        await asyncio.sleep(10)
        assert not item.line.lost
        assert item.wrote


async def test_a_leader_renews_after_a_sleep_before_it_writes() -> None:
    """No timer went on meanwhile; the time of day did."""
    async with setup() as here:
        item = here.candidate("one")
        await asyncio.sleep(3)
        for days in (1, -2):
            item.ahead += timedelta(days=days)
            assert item.leadership.may_write() is (days < 0)
            await asyncio.sleep(3)
            assert item.leadership.may_write()


async def test_a_lease_that_is_deleted_is_lost() -> None:
    async with setup() as here:
        here.candidate("one")
        await asyncio.sleep(3)
        await here.client.delete(LEASES, LEASE)
        await asyncio.sleep(3)
        assert here.ended == {"one": f"lost lease {LEASE}: it was deleted"}


async def test_a_leader_that_slept_writes_nothing_when_it_wakes_up() -> None:
    """Its timers have not run yet when its next write is due."""
    async with setup() as here:
        item = here.candidate("one")
        await asyncio.sleep(3)
        assert item.leadership.may_write()
        wrote = len(item.wrote)
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        loop.jump(20)
        assert item.leadership.leading  # nobody told it otherwise yet
        await item.write()
        assert len(item.wrote) == wrote
        await asyncio.sleep(5)
        # Nobody else took the Lease meanwhile: it was renewed, and work goes on.
        assert (await here.lease())["holderIdentity"] == "one"
        assert len(item.wrote) > wrote


async def test_a_lease_taken_by_another_is_lost_at_once() -> None:
    async with setup() as here:
        here.candidate("one")
        await asyncio.sleep(3)
        await here.client.patch(LEASES, LEASE, {"spec": {"holderIdentity": "two"}})
        await asyncio.sleep(3)
        assert here.ended == {"one": f"lost lease {LEASE}: two has it"}
        assert (await here.lease())["holderIdentity"] == "two"


async def test_a_clock_that_is_set_back_does_not_lengthen_the_lease() -> None:
    """The time of day says that the deadline is far; by the clock of timers it is over."""
    async with setup() as here:
        item = here.candidate("one")
        await asyncio.sleep(3)
        wrote = len(item.wrote)
        item.ahead -= timedelta(hours=1)
        assert item.leadership.may_write()
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        loop.jump(item.leadership.terms.renew_deadline)
        assert not item.leadership.may_write()
        await item.write()
        assert len(item.wrote) == wrote


async def test_an_unreachable_server_is_tried_until_it_is_there() -> None:
    async with setup() as here:
        candidate = Candidate(here.server, "one")
        candidate.line.cut = True
        async with asyncio.TaskGroup() as group:
            task = group.create_task(candidate.leadership.lead(candidate.work))
            await asyncio.sleep(120)
            assert not candidate.wrote
            candidate.line.cut = False
            await asyncio.sleep(3)
            assert candidate.wrote
            task.cancel()


async def test_times_in_a_lease_are_not_compared_with_a_clock() -> None:
    """A holder whose clock is years ahead, or behind, leads as long as it renews."""
    async with setup() as here:
        for moment in ("2100-01-01T00:00:00.000000Z", "1999-01-01T00:00:00.000000Z"):
            spec: Document = {"holderIdentity": "other", "leaseDurationSeconds": 15}
            document: Document = {
                "apiVersion": LEASES.api_version,
                "kind": LEASES.kind,
                "metadata": {"name": LEASE.name, "namespace": LEASE.namespace},
                "spec": {**spec, "renewTime": moment},
            }
            await here.client.create(LEASES, document)
            item = here.candidate("one")
            for number in range(10):
                await asyncio.sleep(10)
                assert not item.wrote
                patch: Document = {"spec": {"leaseTransitions": number}}
                await here.client.patch(LEASES, LEASE, patch)
            await asyncio.sleep(16)
            assert item.wrote
            assert item.task is not None
            item.task.cancel()
            await asyncio.sleep(1)
            await here.client.delete(LEASES, LEASE)


async def test_a_program_that_fails_gives_the_lease_up_and_its_failure_is_reported() -> None:
    async with setup() as here:
        candidate = Candidate(here.server, "one")

        async def work() -> None:
            raise ValueError("broken")

        with pytest.raises(ValueError, match="broken"):
            await candidate.leadership.lead(work)
        assert (await here.lease())["holderIdentity"] == ""


def test_contradictory_lease_durations_are_refused() -> None:
    with pytest.raises(ValueError, match="longer than"):
        LeaderElectionConfig(lease=LEASE, identity="one", duration=10, renew_deadline=10)


async def test_a_lease_of_a_restored_server_counts_as_renewed() -> None:
    """Its versions are lower; an event with such a version is only late."""
    observed = ObservedLease()
    observed.observe(held_lease(version=900), is_current=True)
    await asyncio.sleep(14.0)
    assert not observed.observe(held_lease(version=899))
    assert observed.remaining(15.0) == pytest.approx(1.0)
    assert observed.observe(held_lease(version=12), is_current=True)
    assert observed.remaining(15.0) == pytest.approx(15.0)
    await asyncio.sleep(14.0)
    assert not observed.observe(held_lease(version=12), is_current=True)
    assert observed.remaining(15.0) == pytest.approx(1.0)


def held_lease(*, version: int) -> Document:
    lease = lease_of(LEASE, {"holderIdentity": "a", "leaseDurationSeconds": 15}, {})
    lease["metadata"]["resourceVersion"] = str(version)
    return lease
