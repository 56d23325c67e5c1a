"""Tests of interceptors between a client and its transport: they pass on requests and probes."""

from __future__ import annotations

import asyncio

import pytest

from kapy.client.client import Client, over_network
from kapy.client.intercept import NO_ANSWER, Interceptor, RequestCounter
from kapy.client.rate_limit import RateLimited
from kapy.kube import Key
from kapy.kube.errors import NotFound, Unreachable
from kapy.kube.http import Reply, Request
from tests.engine.fake_server import WIDGETS, FakeServer, widget


class Remote:
    """A transport over a network that can be closed."""

    over_network = True
    host = "plane:6443"
    closed = False

    async def __call__(self, request: Request) -> Reply:
        return Reply(200, {})

    async def aclose(self) -> None:
        self.closed = True


async def test_a_wrapped_transport_keeps_host_and_network() -> None:
    remote = Remote()
    wrapped = RequestCounter(Interceptor(remote))
    assert over_network(wrapped)
    assert wrapped.host == "plane:6443"
    await wrapped(Request("GET", "/"))
    await wrapped.aclose()
    assert remote.closed
    inner = Interceptor(FakeServer())
    assert not over_network(inner)
    await inner.aclose()


async def test_requests_are_counted_by_verb_and_outcome() -> None:
    server = FakeServer()
    counted = RequestCounter(server)
    client = Client(counted)
    await client.create(WIDGETS, widget("a"))
    await client.get(WIDGETS, Key("default", "a"))
    with pytest.raises(NotFound):
        await client.get(WIDGETS, Key("default", "b"))
    async with client.watch(WIDGETS, resource_version="10"):
        pass
    server.faults.append(lambda request: Unreachable("gone"))
    with pytest.raises(Unreachable):
        await client.list(WIDGETS)
    assert counted.counts == {
        ("POST", 200): 1,
        ("GET", 200): 1,
        ("GET", 404): 1,
        ("WATCH", 200): 1,
        ("GET", NO_ANSWER): 1,
    }


class Probed(Remote):
    """One that has a cheaper way for probes."""

    async def probe(self, request: Request) -> Reply:
        return Reply(200, {"probed": request.path})


async def test_a_probe_takes_the_cheapest_allowed_way() -> None:
    ask = Request("GET", "/version")
    paced = RateLimited(Probed(), qps=1, burst=1)
    assert (await paced.probe(ask)).body == {"probed": "/version"}
    counted = RequestCounter(paced)
    assert (await counted.probe(ask)).body == {}, "nothing goes past whoever does not let it"
    assert counted.counts == {("GET", 200): 1}
    assert (await RateLimited(Remote(), qps=1, burst=1).probe(ask)).body == {}


async def test_a_throttling_server_is_probed_nevertheless() -> None:
    class Busy(Probed):
        async def __call__(self, request: Request) -> Reply:
            return Reply(429, {}, {"retry-after": "60"})

    paced, loop = RateLimited(Busy(), qps=20, burst=30), asyncio.get_running_loop()
    began = loop.time()
    await paced(Request("GET", "/api"))
    assert (await paced.probe(Request("GET", "/version"))).status == 200
    assert loop.time() == began
