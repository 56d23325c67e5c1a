"""A thousand workload clusters, fifty of which die: the others do not notice."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

from kapy._aio.clock import loop_clock
from kapy.client.rate_limit import RateLimited
from kapy.engine.controller import Controller
from kapy.engine.result import DONE, Result
from kapy.engine.runtime import Runtime
from kapy.kube import Key
from kapy.kube.errors import Unreachable
from kapy.kube.http import Reply, Request, Transport
from kapy.kube.names import NODES
from kapy.remote.cluster_cache import ClusterCache, Kubeconfig
from tests.engine.fake_server import FakeServer
from tests.remote.workload_clusters import secret

CLUSTERS = 1000
MACHINES = 3  # of each cluster
FAR = 0.05  # seconds to an answer
SILENT, REFUSING, SLOW, NONSENSE = range(13), range(13, 26), range(26, 38), range(38, 50)
DEAD = range(50)


class Far:
    """A cluster's API server, some way off."""

    over_network = True

    def __init__(self, number: int, request: Counter[int]) -> None:
        self.number, self.asked = number, request
        self.dead = False

    async def __call__(self, request: Request) -> Reply:
        self.asked[self.number] += 1
        if self.dead and self.number in SILENT:
            await asyncio.get_running_loop().create_future()
        if self.dead and self.number in REFUSING:
            raise Unreachable("connection refused")
        await asyncio.sleep(4.0 if self.dead and self.number in SLOW else FAR)
        if self.dead and self.number in NONSENSE:
            return Reply(200, b"<html>welcome</html>")
        return Reply(200, {"major": "1", "kind": "Node", "metadata": {"name": "node"}})


class Fleet:
    """A program with one controller, which asks a machine's cluster for its node."""

    def __init__(self) -> None:
        self.asked: Counter[int] = Counter()
        self.servers = [Far(number, self.asked) for number in range(CLUSTERS)]
        management = FakeServer("secrets")
        for number in range(CLUSTERS):
            management.put(secret(f"c{number}"))
        self.runtime = Runtime.on(management, clock=loop_clock(), random=Random(3))
        self.connections = ClusterCache(self.runtime, dial=self.dial)
        self.machines = self.runtime.add(Controller("machine", self.look, concurrency=100))
        self.seen: dict[Key, float] = {}
        self.connected: dict[str, float] = {}
        self.connections.subscribe(self._note)

    def _note(self, cluster: Key) -> None:
        self.connected.setdefault(cluster.name, asyncio.get_running_loop().time())

    def dies(self) -> None:
        """Fifty clusters answer late, nonsense or nothing from now on."""
        for number in DEAD:
            self.servers[number].dead = True

    def dial(self, kubeconfig: Kubeconfig) -> Transport:
        number = int(kubeconfig.server.removeprefix("https://c").split(":")[0])
        return RateLimited(self.servers[number], qps=20, burst=30)

    async def look(self, machine: Key) -> Result:
        client = self.connections.client(Key("default", machine.name.partition("-")[0]))
        await client.get(NODES, Key("", "node"))
        self.seen[machine] = asyncio.get_running_loop().time()
        return DONE

    async def longest(self) -> float:
        """Something happens to every machine; seconds until all have been looked at whose clusters
        are well."""
        began = asyncio.get_running_loop().time()
        for number in range(CLUSTERS):
            for machine in range(MACHINES):
                self.machines.enqueue(Key("default", f"c{number}-m{machine}"))
        await asyncio.sleep(11)  # whoever waits for the dead has given up by then
        well = [
            self.seen[Key("default", f"c{number}-m{machine}")]
            for number in range(len(DEAD), CLUSTERS)
            for machine in range(MACHINES)
        ]
        assert min(well) >= began
        return max(well) - began


@asynccontextmanager
async def running(here: Fleet) -> AsyncIterator[Fleet]:
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(here.runtime.run()),
            group.create_task(here.connections.run()),
        ]
        await asyncio.sleep(5)
        yield here
        for task in tasks:
            task.cancel()


async def test_fifty_dead_clusters_of_a_thousand_cost_the_others_nothing() -> None:
    async with running(Fleet()) as here:
        assert len(here.connected) == CLUSTERS
        usual = await here.longest()
        here.dies()
        worst = await here.longest()
        later = await here.longest()
        assert worst <= 1.01 * usual
        assert later <= 1.01 * usual
        here.asked.clear()
        await asyncio.sleep(30)
        assert max(here.asked[number] for number in DEAD) <= 12  # probes, and a few tries


async def test_dead_clusters_delay_no_first_connection() -> None:
    last: list[float] = []
    for some_are_dead in (False, True):
        here = Fleet()
        if some_are_dead:
            here.dies()
        began = asyncio.get_running_loop().time()
        async with running(here):
            living = [here.connected[f"c{number}"] for number in range(len(DEAD), CLUSTERS)]
            last.append(max(living) - began)
    assert last[1] <= last[0] + 0.25  # a place to connect is held for a moment, not until it fails
