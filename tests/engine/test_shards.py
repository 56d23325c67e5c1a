"""Shards: every cluster has one that works on it, and never two."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from itertools import pairwise
from random import Random
from typing import Any, NamedTuple

import pytest

from kapy._aio.clock import loop_clock
from kapy._aio.services import run_services
from kapy.apiserver.server import Server
from kapy.client.client import Client
from kapy.client.intercept import Interceptor
from kapy.engine.cluster_of import cluster_of, rendezvous_owner
from kapy.engine.controller import Controller
from kapy.engine.leadership import Fenced, LeaderElectionConfig, LostLeadership, NotLeading
from kapy.engine.result import Result, requeue
from kapy.engine.runtime import Runtime
from kapy.engine.shards import Shards
from kapy.kube import Document, Key
from kapy.kube.errors import Unreachable
from kapy.kube.http import ADMIN, Reply, Request
from kapy.kube.names import CONFIG_MAPS, LEASES
from kapy.testing.virtual_time import VirtualTimeLoop

LEASE = Key("default", "controller-leader-election-capi")
CLUSTERS = [Key("default", f"cluster-{number}") for number in range(60)]
LABEL = "cluster.x-k8s.io/cluster-name"
WORK = 3.0
"""Seconds between the two writes of one look at a cluster."""
AGAIN = timedelta(seconds=1)


class Line(Interceptor):
    """A way to the server that can be cut, or made slow; what it tells of Leases, too."""

    __slots__ = ("cut", "late")

    def __init__(self, server: Server) -> None:
        super().__init__(server.transport(ADMIN))
        self.cut = False
        self.late = 0.0

    async def __call__(self, request: Request) -> Reply:
        if self.cut:
            raise Unreachable("cut off")
        reply = await self.transport(request)
        if "watch" in request.query:
            leases = LEASES.plural in request.path
            return Reply(reply.status, self._told(reply.body)) if leases else reply
        if self.late:
            await asyncio.sleep(self.late)
        if self.cut:
            raise Unreachable("cut off")
        return reply

    async def _told(self, events: Any) -> AsyncIterator[Document]:
        async for event in events:
            if self.late:
                await asyncio.sleep(self.late)
            yield event


class Look(NamedTuple):
    """From a program's first write for a cluster to its last one."""

    began: float
    ended: float
    program: str


class Program:
    """Looks at each of its clusters again and again, and writes twice each time."""

    def __init__(self, server: Server, name: str, looks: dict[Key, list[Look]], count: int) -> None:
        self.name, self.looks = name, looks
        self.line = Line(server)
        seed, terms = Random(name), LeaderElectionConfig(lease=LEASE, identity=name)
        self.shards = Shards(Client(self.line), terms, count, loop_clock(), seed)
        fenced = Fenced(self.line, self.shards)
        self.runtime = Runtime.on(fenced, clock=loop_clock(), field_manager=name, random=seed)
        self.runtime.leader_gate, self.runtime.shards = self.shards.run_as_member, self.shards
        maps = self.runtime.cache.informer(CONFIG_MAPS, labels=LABEL)
        controller = Controller("maps", self.look, concurrency=100)
        controller.watch(maps, lambda change: [Key.of(change.document)] if change.initial else [])
        self.runtime.add(controller, maps)
        self.task: asyncio.Task[None] | None = None

    async def look(self, key: Key) -> Result:
        began = await self.write(key)
        self.looks[key].append(Look(began, began, self.name))  # the other write may fail
        await asyncio.sleep(WORK)
        ended = await self.write(key)
        self.looks[key].append(Look(began, ended, self.name))
        return requeue(after=AGAIN, because="again and again")

    async def write(self, key: Key) -> float:
        await self.runtime.client.patch(CONFIG_MAPS, key, {"data": {"writer": self.name}})
        return asyncio.get_running_loop().time()

    @property
    def held(self) -> list[Key]:
        return [cluster for cluster in CLUSTERS if self.shards.holds(cluster)]


class Setup:
    def __init__(self, server: Server, group: asyncio.TaskGroup) -> None:
        self.server = server
        self.client = Client(server.transport(ADMIN))
        self.looks: dict[Key, list[Look]] = {cluster: [] for cluster in CLUSTERS}
        self.ended: dict[str, str] = {}
        self._group = group

    def program(self, name: str, count: int = 9) -> Program:
        result = Program(self.server, name, self.looks, count)
        result.task = self._group.create_task(self._run(result))
        return result

    async def programs(self, *names: str) -> list[Program]:
        """They work, and each has its clusters."""
        results = [self.program(name) for name in names]
        await asyncio.sleep(30)
        assert all(item.held for item in results)
        return results

    async def _run(self, value: Program) -> None:
        try:
            await value.runtime.run()
        except* LostLeadership as lost:
            self.ended[value.name] = str(lost.exceptions[0])

    def told(self, *programs: Program) -> None:
        """Each cluster is one program's at present, and no two ever worked on it at a time."""
        shares = [cluster for item in programs for cluster in item.held]
        assert sorted(shares) == sorted(CLUSTERS)
        now = asyncio.get_running_loop().time()
        for cluster, looks in self.looks.items():
            for before, after in pairwise(sorted(looks)):
                assert before.ended <= after.began, cluster
            assert now - max(looks).ended <= 2 * (WORK + AGAIN.total_seconds()), cluster


@asynccontextmanager
async def setup() -> AsyncIterator[Setup]:
    server = Server.open(None, clock=loop_clock())
    try:
        async with run_services(server=server.run), asyncio.TaskGroup() as group:
            await asyncio.sleep(1)
            here = Setup(server, group)
            for cluster in CLUSTERS:
                metadata: Document = {"name": cluster.name, "namespace": cluster.namespace}
                metadata["labels"] = {LABEL: cluster.name}
                document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
                await here.client.create(CONFIG_MAPS, document)
            tasks = asyncio.all_tasks()
            yield here
            for task in asyncio.all_tasks() - tasks:
                task.cancel()
    finally:
        server.close()


async def test_three_shards_share_the_clusters_and_a_fourth_gets_its_part() -> None:
    async with setup() as here:
        three = await here.programs("one", "two", "three")
        here.told(*three)
        before = {program.name: set(program.held) for program in three}
        four = here.program("four")
        await asyncio.sleep(30)
        here.told(*three, four)
        # Nothing moves but to the one that came.
        assert all(set(program.held) <= before[program.name] for program in three)
        assert 5 <= len(four.held) <= 30


async def test_a_shard_that_is_stopped_hands_over_at_once() -> None:
    async with setup() as here:
        program, two, three = await here.programs("one", "two", "three")
        shares = {*program.held}, {*two.held}
        assert three.task is not None
        three.task.cancel()
        await asyncio.sleep(2 * WORK)
        here.told(program, two)
        assert shares[0] <= {*program.held}
        assert shares[1] <= {*two.held}


async def test_the_clusters_of_a_shard_that_died_go_to_the_others_when_its_lease_is_over() -> None:
    async with setup() as here:
        program, two, three = await here.programs("one", "two", "three")
        lost = three.held
        three.line.cut = True
        assert three.task is not None
        three.task.cancel()
        await asyncio.sleep(10)
        assert not {*lost} & {*program.held, *two.held}
        await asyncio.sleep(15)
        here.told(program, two)


async def test_a_shard_that_is_cut_off_ends_before_others_have_its_clusters() -> None:
    async with setup() as here:
        program, two, three = await here.programs("one", "two", "three")
        three.line.cut = True
        await asyncio.sleep(30)
        three.line.cut = False
        with pytest.raises(NotLeading):
            await three.write(CLUSTERS[0])
        await asyncio.sleep(5)
        assert "nobody has it" in here.ended["three"]
        here.told(program, two)


async def test_shards_continue_after_an_outage_of_the_server() -> None:
    async with setup() as here:
        programs = await here.programs("one", "two", "three")
        held = [element.held for element in programs]
        for program in programs:
            program.line.cut = True
        await asyncio.sleep(600)
        assert not any(element.shards.may_write() for element in programs)
        back = asyncio.get_running_loop().time()
        for item in programs:
            item.line.cut = False
        await asyncio.sleep(15)
        assert [element.held for element in programs] == held
        assert here.ended == {}
        assert all(any(look.began > back for look in here.looks[cluster]) for cluster in CLUSTERS)
        here.told(*programs)


async def test_a_shard_that_slept_while_its_clusters_went_to_others_writes_nothing() -> None:
    """Its work goes on when it wakes up, and the runtime holds back its next write."""
    async with setup() as here:
        program, two, three = await here.programs("one", "two", "three")
        three.line.cut = True  # it sleeps: nothing goes out, and nothing comes in
        three.line.late = 40.0
        await asyncio.sleep(30)
        here.told(program, two)
        three.line.cut, three.line.late = False, 0.0
        await asyncio.sleep(30)
        assert "three" in here.ended
        here.told(program, two)


async def test_a_program_renews_after_a_clock_jump_before_it_writes() -> None:
    async with setup() as here:
        value, two = await here.programs("one", "two")
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        loop.jump(20)  # both slept
        for program in (value, two):
            with pytest.raises(NotLeading):
                await program.write(program.held[0])


async def test_a_shard_that_sees_the_others_late_waits_for_them() -> None:
    """Its watch tells it of the Leases after the others know."""
    async with setup() as here:
        program, two = await here.programs("one", "two")
        three = here.program("three")
        three.line.late = 0.4
        await asyncio.sleep(60)
        two.line.late = 0.3
        four = here.program("four")
        await asyncio.sleep(60)
        assert program.task is not None
        program.task.cancel()
        await asyncio.sleep(60)
        here.told(two, three, four)


async def test_programs_beyond_the_slots_stand_by() -> None:
    async with setup() as here:
        program, two, three = (here.program(name, count=2) for name in ("one", "two", "three"))
        await asyncio.sleep(30)
        here.told(program, two)
        assert not three.held
        assert program.task is not None
        program.task.cancel()
        await asyncio.sleep(20)
        here.told(two, three)
        leases = (await here.client.list(LEASES, "default")).items
        holders = {lease["spec"]["holderIdentity"] for lease in leases}
        assert (len(leases), holders) == (2, {"two", "three"})


@pytest.mark.slow
async def test_shards_survive_many_days_of_restarts() -> None:
    """Seeded: programs come, are stopped, die, or are cut off for a while, in any order."""
    random, names = Random(11), (f"program-{number}" for number in range(99))
    async with setup() as here:
        there = await here.programs(next(names), next(names))
        for _ in range(15):
            program = random.choice(there)
            match random.choice(("comes", "stops", "dies", "cut off", "slow")):
                case "comes":
                    there.append(here.program(next(names)))
                case "stops" | "dies" as how if len(there) > 1:
                    program.line.cut = how == "dies"
                    assert program.task is not None
                    program.task.cancel()
                    there.remove(program)
                case "cut off":
                    program.line.cut = True
                    await asyncio.sleep(random.uniform(1, 20))
                    program.line.cut = False
                case _:
                    program.line.late = random.uniform(0, 0.5)
            await asyncio.sleep(random.uniform(1, 30))
            there = [item for item in there if item.name not in here.ended] or [
                here.program(next(names))
            ]
        await asyncio.sleep(60)
        here.told(*(item for item in there if item.name not in here.ended))


@pytest.mark.parametrize(
    ("document", "cluster"),
    [
        ({"kind": "Cluster", "apiVersion": "cluster.x-k8s.io/v1beta2"}, "own"),
        ({"kind": "Machine", "spec": {"clusterName": "herd"}}, "herd"),
        ({"kind": "DevMachine", "metadata": {"labels": {LABEL: "herd"}}}, "herd"),
        (
            {
                "kind": "DevCluster",
                "metadata": {
                    "ownerReferences": [
                        {"kind": "Secret", "apiVersion": "v1", "name": "other"},
                        {
                            "kind": "Cluster",
                            "apiVersion": "cluster.x-k8s.io/v1beta1",
                            "name": "herd",
                        },
                    ]
                },
            },
            "herd",
        ),
        ({"kind": "ClusterClass", "spec": {}}, "own"),
    ],
)
def test_objects_go_with_their_cluster(document: Document, cluster: str) -> None:
    metadata = {"namespace": "default", "name": "own", **document.get("metadata", {})}
    assert cluster_of({**document, "metadata": metadata}) == Key("default", cluster)


def test_shares_are_about_equal_and_only_those_move_that_must() -> None:
    clusters = [Key("default", f"c{number}") for number in range(1000)]
    three = {cluster: rendezvous_owner(cluster, ("a", "b", "c")) for cluster in clusters}
    sizes = [sum(text == name for text in three.values()) for name in "abc"]
    assert min(sizes) > 280
    two = {cluster: rendezvous_owner(cluster, ("c", "a")) for cluster in clusters}
    assert all(two[cluster] == three[cluster] for cluster in clusters if three[cluster] != "b")
