"""Whether a workload cluster is there: probes, failures, and coming back."""

from __future__ import annotations

import asyncio

import pytest

from kapy.kube import Document, Key
from kapy.kube.errors import ServerError, Unauthorized, Unreachable
from kapy.kube.names import NODES
from kapy.remote.cluster_cache import NotConnected
from tests.remote.workload_clusters import ONE, TWO, Workload, running, secret


async def test_over_a_network_a_connection_is_probed_and_lost_after_five_failures() -> None:
    async with running() as here:
        here.clusters["one"] = workload = Workload(over_network=True)
        here.management.put(secret("one"))
        await asyncio.sleep(95)
        assert workload.contacts == 11  # to connect, then at its turn of every ten seconds
        assert here.connections.health(ONE).failures == 0
        here.told.clear()
        workload.fault = ServerError("no leader")
        await asyncio.sleep(40)
        health = here.connections.health(ONE)
        assert (health.connected, health.failures) == (True, 4)
        assert [name for _, name in here.told] == ["one"]
        await asyncio.sleep(10)
        assert not here.connected(ONE)
        assert [name for _, name in here.told] == ["one", "one"]
        workload.fault = None
        await asyncio.sleep(31)
        assert here.connected(ONE)


async def test_an_unobserved_connection_is_probed_when_it_fails() -> None:
    async with running(probing=False) as here:
        here.clusters["one"] = workload = Workload(over_network=True)
        here.management.put(secret("one"))
        await asyncio.sleep(600)
        assert workload.contacts == 1
        workload.fault = ServerError("no leader")
        await asyncio.sleep(60)
        assert here.connected(ONE)
        workload.fault = Unreachable("gone")
        with pytest.raises(Unreachable):
            await here.connections.client(ONE).raw("GET", "/api")
        await asyncio.sleep(45)
        assert not here.connected(ONE)
        workload.fault = None
        await asyncio.sleep(31)
        assert here.connected(ONE)


async def test_a_server_without_a_version_is_asked_for_its_api_versions() -> None:
    async with running() as here:
        here.clusters["one"] = workload = Workload(over_network=True)
        workload.version = None
        here.management.put(secret("one"))
        await asyncio.sleep(60)
        assert here.connected(ONE)


@pytest.mark.parametrize("version", [b"<html>welcome</html>", {"hello": "world"}, {}])
async def test_a_server_that_answers_nonsense_is_no_api_server(version: Document | bytes) -> None:
    async with running() as here:
        here.clusters["one"] = workload = Workload(over_network=True)
        here.clusters["two"] = Workload(over_network=True)
        workload.version = version
        for name in ("one", "two"):
            here.management.put(secret(name))
        await asyncio.sleep(600)
        assert here.connected(TWO)
        assert not here.connected(ONE)
        assert here.connections.health(ONE).reason
        assert workload.contacts < 65
        workload.version = {"major": "1"}
        await asyncio.sleep(40)
        assert here.connected(ONE)


async def test_refused_credentials_are_given_up_at_once() -> None:
    async with running() as here:
        here.clusters["one"] = workload = Workload(over_network=True)
        here.management.put(secret("one"))
        await asyncio.sleep(1)
        workload.fault = Unauthorized("who are you")
        await asyncio.sleep(10)
        assert not here.connected(ONE)


async def test_an_in_process_cluster_is_probed_only_after_a_failure() -> None:
    async with running() as here:
        here.clusters["one"] = workload = Workload()
        here.management.put(secret("one"))
        await asyncio.sleep(1000)
        assert workload.contacts == 1
        assert here.connections.health(ONE).last_success == here.runtime.clock()
        workload.fault = Unreachable("gone")
        with pytest.raises(Unreachable):
            await here.connections.client(ONE).raw("GET", "/api")
        await asyncio.sleep(10)
        assert not here.connected(ONE)
        assert workload.contacts < 12
        workload.fault = None
        await asyncio.sleep(31)
        assert here.connected(ONE)


async def test_a_cluster_that_moved_into_this_program_is_reached_here_at_once() -> None:
    async with running() as here:
        here.clusters["one"] = elsewhere = Workload(over_network=True)
        here.management.put(secret("one"))
        await asyncio.sleep(1)
        elsewhere.fault = Unreachable("hung up")
        here.clusters["one"] = moved = Workload()
        here.connections.trigger_probe(ONE)
        await asyncio.sleep(1)
        assert here.connected(ONE)
        assert (elsewhere.open, moved.open, moved.contacts) == (0, 1, 1)


async def test_a_short_absence_is_reported_and_forgiven() -> None:
    async with running() as here:
        here.clusters["one"] = workload = Workload()
        here.management.put(secret("one"))
        await asyncio.sleep(1)
        client = here.connections.client(ONE)
        here.told.clear()
        workload.fault = Unreachable("gone")
        with pytest.raises(Unreachable):
            await client.raw("GET", "/api")
        await asyncio.sleep(0.1)
        assert here.connections.health(ONE).failures == 1
        workload.fault = None
        await asyncio.sleep(10)
        assert here.connections.client(ONE) is client
        assert here.connections.health(ONE).failures == 0
        assert [name for _, name in here.told] == ["one", "one"]


async def test_watches_resume_as_soon_as_a_probe_passes() -> None:
    async with running() as here:
        here.clusters["one"] = workload = Workload(over_network=True)
        here.management.put(secret("one"))
        await asyncio.sleep(1)
        with pytest.raises(NotConnected):
            here.connections.informer(ONE, NODES)
        await asyncio.sleep(1)
        nodes = here.connections.informer(ONE, NODES)
        workload.fault = Unreachable("gone")
        workload.nodes.break_watches()
        await asyncio.sleep(27)
        assert here.connections.health(ONE).failures
        workload.fault = None
        workload.nodes.put({"kind": "Node", "metadata": {"name": "n"}})
        while here.connections.health(ONE).failures:
            assert not nodes.list()
            await asyncio.sleep(1)
        await asyncio.sleep(1)
        assert list(nodes.keys()) == [Key("", "n")]
