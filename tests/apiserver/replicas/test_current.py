"""A read through any process sees every write that was acknowledged before."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapy.apiserver.serving.replica_application import CATCH_UP_SECONDS
from kapy.testing.virtual_time import VirtualTimeLoop
from tests.apiserver.network_client import Calls
from tests.apiserver.replicas.beside import Beside, replicated
from tests.apiserver.requester import CONFIG_MAPS, config_map


@given(seed=st.integers(0, 1 << 30))
def test_reads_see_acknowledged_writes_in_any_interleaving(seed: int) -> None:
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(_play(random.Random(seed)))


async def _play(rng: random.Random) -> None:
    async with replicated(replicas=2, documents=[(CONFIG_MAPS, config_map("c"))]) as (_, sides):
        clients = [await side.open() for side in sides]
        for side in sides:
            side.delivers = False
        user = _User()
        async with asyncio.TaskGroup() as later, asyncio.TaskGroup() as group:
            for number in range(12):
                calls = rng.choice(clients)
                is_write = rng.random() < 0.4
                group.create_task(user.write(calls, number) if is_write else user.read(calls))
                for _ in range(rng.randrange(6)):
                    await asyncio.sleep(0)
                    rng.choice(sides).deliver(rng.randrange(3))
            for side in sides:
                later.create_task(_deliver(side))
        assert user.reads + user.writes == 12
        assert sum(len(side.forwarded) for side in sides) == user.writes


class _User:
    """Writes and reads one object through any process."""

    def __init__(self) -> None:
        self.acknowledged = self.reads = self.writes = 0

    async def write(self, calls: Calls, number: int) -> None:
        patch = {"data": {"n": str(number)}}
        kind = "application/merge-patch+json"
        answer = await calls.call("PATCH", f"{CONFIG_MAPS}/c", patch, content_type=kind)
        self.acknowledged = max(self.acknowledged, _revision(answer.body))
        self.writes += 1

    async def read(self, calls: Calls) -> None:
        least = self.acknowledged
        single = (await calls.call("GET", f"{CONFIG_MAPS}/c")).body
        assert _revision(single) >= least
        whole = (await calls.call("GET", CONFIG_MAPS)).body
        assert _revision(whole) >= _revision(single)
        self.reads += 1


async def _deliver(side: Beside) -> None:
    """Deliver the rest a little later, more than once: what arrives causes more messages."""
    for _ in range(20):
        await asyncio.sleep(0.01)
        side.deliver()


def _revision(document: Any) -> int:
    return int(document["metadata"]["resourceVersion"])


async def test_a_read_waits_for_a_write_that_another_process_has_acknowledged() -> None:
    async with replicated() as (asking, (beside,)):
        replica = await beside.open()
        await replica.call("GET", CONFIG_MAPS)
        assert beside.hurries == 0
        beside.delivers = False
        await asking.create(CONFIG_MAPS, config_map("a"))
        async with asyncio.TaskGroup() as group:
            reading = group.create_task(replica.call("GET", f"{CONFIG_MAPS}/a"))
            await asyncio.sleep(CATCH_UP_SECONDS / 2)
            assert not reading.done()
            assert beside.hurries == 1
            beside.deliver()
        assert reading.result().status == 200
        assert beside.forwarded == []


async def test_a_read_that_waits_for_too_long_is_forwarded() -> None:
    async with replicated() as (asking, (beside,)):
        replica = await beside.open()
        feed, beside.delivers = beside.feed, True
        feed.remove(beside.replicate)  # its writes are late
        await asking.create(CONFIG_MAPS, config_map("a"))
        began = asyncio.get_running_loop().time()
        assert (await replica.call("GET", f"{CONFIG_MAPS}/a")).status == 200
        assert asyncio.get_running_loop().time() - began == pytest.approx(CATCH_UP_SECONDS)
        assert beside.forwarded == [f"GET {CONFIG_MAPS}/a"]
        assert beside.store._waiting == []


async def test_a_watch_gets_the_events_of_the_server() -> None:
    async with replicated() as (asking, (beside,)):
        replica = await beside.open()
        version = asking.server.store.revision
        target = f"{CONFIG_MAPS}?watch=1&resourceVersion={version}&timeoutSeconds=5"
        async with asyncio.TaskGroup() as group:
            here = group.create_task(replica.call("GET", target))
            there = group.create_task(Calls(asking.server).call("GET", target))
            await asyncio.sleep(0.1)
            await asking.create(CONFIG_MAPS, config_map("a"))
            await asking.merge(f"{CONFIG_MAPS}/a", {"data": {"x": "y"}})
            await asking.delete(f"{CONFIG_MAPS}/a")
        assert here.result().content == there.result().content
        assert here.result().content.count(b"\n") == 3
        assert beside.forwarded == []


async def test_a_watch_from_before_the_replica_is_the_servers() -> None:
    async with replicated() as (asking, (beside,)):
        version = asking.server.store.revision
        await asking.create(CONFIG_MAPS, config_map("a"))
        replica = await beside.open()
        target = f"{CONFIG_MAPS}?watch=1&resourceVersion={version}&timeoutSeconds=5"
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(replica.call("GET", target))
            await asyncio.sleep(0.1)
            await asking.delete(f"{CONFIG_MAPS}/a")
        kinds = [line[:16] for line in watching.result().content.splitlines()]
        assert kinds == [b'{"type":"ADDED",', b'{"type":"DELETED']
        assert beside.forwarded == [f"GET {CONFIG_MAPS}"]
