"""A workload cluster that answers late, or never, does not hold up the others."""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from kapy.client.rate_limit import RateLimited
from kapy.engine.controller import Controller
from kapy.engine.result import DONE, Result
from kapy.kube import Key
from kapy.kube.errors import Unreachable
from kapy.kube.http import Reply, Request
from kapy.remote.request_throttle import (
    LONGEST_OPEN,
    LONGEST_WAIT,
    MAX_IN_FLIGHT,
    MAX_QUEUED,
    NotConnected,
    RequestThrottle,
)

READ = Request("GET", "/api/v1/nodes/n")


class Server:
    """Answers after some seconds."""

    over_network = True
    host = "one:6443"

    def __init__(self, late: float = 0.0) -> None:
        self.late = late
        self.asked = 0

    async def __call__(self, request: Request) -> Reply:
        self.asked += 1
        await asyncio.sleep(self.late)
        return Reply(200, {"kind": "Node"})


def patience(server: Server) -> tuple[RequestThrottle, list[float]]:
    """With the moments at which it told of a recovery."""
    recovered: list[float] = []
    note = lambda: recovered.append(asyncio.get_running_loop().time())  # noqa: E731
    return RequestThrottle(server, Random(1), note), recovered


async def test_a_prompt_cluster_is_not_throttled() -> None:
    server = Server(0.02)
    patient, recovered = patience(server)
    async with asyncio.TaskGroup() as group:
        for _ in range(50):
            group.create_task(patient(READ))
    assert (server.asked, recovered) == (50, [])


async def test_a_slow_cluster_gets_few_concurrent_requests_and_the_rest_are_refused() -> None:
    server = Server(3)
    patient, _ = patience(server)
    async with asyncio.TaskGroup() as group:
        for _ in range(MAX_IN_FLIGHT):
            group.create_task(patient(READ))
        await asyncio.sleep(1.5)
        now = asyncio.get_running_loop().time()
        with pytest.raises(NotConnected, match="5 requests are waiting for one:6443"):
            await patient(READ)
        assert asyncio.get_running_loop().time() == now
    assert (await patient(READ)).status == 200


async def test_requests_to_a_slow_cluster_are_queued_fairly_up_to_a_limit() -> None:
    server = Server(0.02)
    patient = RequestThrottle(RateLimited(server, qps=20, burst=30), Random(1), lambda: None)
    refused = 0

    async def ask() -> None:
        nonlocal refused
        try:
            await patient(READ)
        except NotConnected:
            refused += 1

    began = asyncio.get_running_loop().time()
    async with asyncio.TaskGroup() as group:
        for _ in range(MAX_IN_FLIGHT + MAX_QUEUED + 10):
            group.create_task(ask())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert refused == 10  # at once: the rest waits
    assert (server.asked, refused) == (MAX_IN_FLIGHT + MAX_QUEUED, 10)
    assert asyncio.get_running_loop().time() - began == pytest.approx(75 / 20, abs=0.2)


async def test_a_silent_cluster_is_left_alone_ever_longer_until_it_answers() -> None:
    server = Server(1000)
    patient, recovered = patience(server)
    with pytest.raises(Unreachable, match="no answer within 10 seconds"):
        await patient(READ)
    with pytest.raises(NotConnected, match="is left alone"):
        await patient(READ)
    for _ in range(600):
        await asyncio.sleep(1)
        with pytest.raises((Unreachable, NotConnected)):
            await patient(READ)
    assert server.asked < 600 / LONGEST_WAIT
    server.late = 0.1
    await asyncio.sleep(LONGEST_OPEN * 1.25)
    number = len(recovered)  # at the end of each rest
    assert number <= server.asked
    await patient(READ)
    await patient(READ)
    assert len(recovered) == number + 1


async def test_a_cancelled_request_frees_its_slot() -> None:
    server = Server(5)
    patient, _ = patience(server)
    for _ in range(3 * MAX_IN_FLIGHT):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await patient(READ)
    server.late = 0
    assert (await patient(READ)).status == 200


@pytest.mark.parametrize("late", [3, 1000])
async def test_a_refused_request_names_the_time_of_the_next_try(late: float) -> None:
    """Whoever is refused does not ask again by himself, and probes go another way."""
    server = Server(late)
    patient, entries = patience(server)
    refused = 0

    async def ask() -> None:
        nonlocal refused
        try:
            await patient(READ)
        except NotConnected:
            refused += 1
        except Unreachable:
            await ask()

    async with asyncio.TaskGroup() as group:
        for _ in range(2 * MAX_IN_FLIGHT):
            group.create_task(ask())
    assert refused >= MAX_IN_FLIGHT
    assert entries == []
    server.late = 0
    await asyncio.sleep(2 * LONGEST_WAIT)
    assert len(entries) == 1


@pytest.mark.parametrize("late", [2, 1000])
async def test_a_slow_cluster_delays_no_other(late: float) -> None:
    """A thousand Machines of the slow cluster come first, ten workers do them all."""
    slow, quick = Server(late), Server(0.01)
    ways = {"slow": patience(slow)[0], "quick": patience(quick)[0]}
    done: dict[str, float] = {}

    async def reconcile(key: Key) -> Result:
        await ways[key.namespace](READ)
        done[key.name] = asyncio.get_running_loop().time()
        return DONE

    controller = Controller("machine", reconcile, concurrency=10)
    for number in range(1000):
        controller.enqueue(Key("slow", f"slow-{number}"))
    for number in range(100):
        controller.enqueue(Key("quick", f"quick-{number}"))
    begun = asyncio.get_running_loop().time()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(controller.run())
        await asyncio.sleep(30)
        task.cancel()
    times = [when - begun for name, when in done.items() if name.startswith("quick")]
    assert len(times) == 100
    assert max(times) < 2
