"""Tests of the client's rate limits, in virtual time."""

from __future__ import annotations

import asyncio

import pytest

from kapy.client.rate_limit import RateLimited
from kapy.kube.http import Reply, Request

ASK = Request("GET", "/x")


class Busy:
    """A server that refuses while `refusing`, and notes when it was asked. after: what it says of
    when to come again."""

    over_network = True
    host = "busy"

    def __init__(self) -> None:
        self.asked: list[float] = []
        self.refusing = False
        self.after = {"retry-after": "2"}

    async def __call__(self, request: Request) -> Reply:
        self.asked.append(asyncio.get_running_loop().time())
        await asyncio.sleep(0.01)
        return Reply(429, {}, self.after) if self.refusing else Reply(200, {})


async def ask(paced: RateLimited, times: int) -> None:
    await asyncio.gather(*(paced(ASK) for _ in range(times)))


@pytest.mark.parametrize(
    ("qps", "burst", "requests", "seconds"),
    [(10, 5, 5, 0.0), (10, 5, 25, 2.0), (100, 200, 200, 0.0), (100, 200, 500, 3.0), (2, 1, 7, 3.0)],
)
async def test_the_rate_has_a_burst_and_a_limit(
    qps: float, burst: float, requests: int, seconds: float
) -> None:
    server = Busy()
    paced = RateLimited(server, qps=qps, burst=burst)
    began = asyncio.get_running_loop().time()
    await ask(paced, requests)
    assert server.asked[-1] - began == pytest.approx(seconds, abs=1 / qps)


async def test_unused_requests_accumulate_up_to_the_burst() -> None:
    server = Busy()
    paced = RateLimited(server, qps=10, burst=5)
    await ask(paced, 25)
    await asyncio.sleep(3600)
    began = asyncio.get_running_loop().time()
    await ask(paced, 15)
    assert server.asked[-1] - began == pytest.approx(1.0, abs=0.1)


async def test_an_overloaded_server_gets_no_request_during_its_retry_after() -> None:
    server = Busy()
    paced = RateLimited(server, qps=100, burst=200)
    server.refusing = True
    await ask(paced, 50)
    server.asked.clear()
    began = asyncio.get_running_loop().time()
    await ask(paced, 50)
    assert server.asked[0] - began >= 1.99
    assert paced.pace <= 50


async def test_few_requests_are_sent_while_the_server_refuses() -> None:
    server = Busy()
    paced = RateLimited(server, qps=100, burst=200)

    async def always() -> None:
        while True:
            await paced(ASK)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(always()) for _ in range(20)]
        await asyncio.sleep(1)
        server.refusing = True
        await asyncio.sleep(10)
        server.asked.clear()
        await asyncio.sleep(50)
        assert len(server.asked) <= 100
        server.refusing = False
        await asyncio.sleep(15)
        server.asked.clear()
        await asyncio.sleep(1)
        assert len(server.asked) >= 90
        for task in tasks:
            task.cancel()


async def test_throttling_is_reported_until_the_server_accepts_more() -> None:
    server = Busy()
    paced = RateLimited(server, qps=100, burst=200)
    await ask(paced, 3)
    assert paced.problem == ""
    server.refusing = True
    await ask(paced, 3)
    assert paced.problem == (
        "busy answers 429 (too many requests): it is asked 50 times a second at most until it "
        "takes more"
    )
    server.refusing = False
    await ask(paced, 1)
    assert paced.problem == ""


async def test_a_refused_eviction_slows_down_no_other_request() -> None:
    server = Busy()
    server.refusing, server.after = True, {}
    paced = RateLimited(server, qps=100, burst=200)
    path = "/api/v1/namespaces/default/pods/capybara/eviction"
    assert (await paced(Request("POST", path, body={}))).status == 429
    assert (paced.pace, paced.problem) == (100, "")
    await paced(ASK)
    assert paced.pace == 50
