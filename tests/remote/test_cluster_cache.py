"""The life cycle of connections to workload clusters, on virtual time."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import pytest

from kapy.engine.cache import Change
from kapy.engine.controller import Controller
from kapy.engine.result import DONE, Result, is_transient
from kapy.kube import Key
from kapy.kube.errors import ServerError, Unreachable
from kapy.kube.http import Transport
from kapy.kube.names import NODES
from kapy.remote.cluster_cache import Kubeconfig, NotConnected
from kapy.testing.faults import Faults, Rates
from tests.remote.workload_clusters import (
    ONE,
    TWO,
    Workload,
    WorkloadClusters,
    kubeconfig,
    running,
    secret,
)


async def test_a_cluster_is_connected_as_soon_as_its_secret_and_its_server_are_there() -> None:
    async with running() as here:
        with pytest.raises(NotConnected, match="no kubeconfig Secret"):
            here.connections.client(ONE)
        here.clusters["one"] = workload = Workload()
        here.management.put(secret("one"))
        await asyncio.sleep(0.1)
        assert here.connected(ONE)
        assert [name for _, name in here.told] == ["one"]
        assert await here.connections.client(ONE).raw("GET", "/version") == {"major": "1"}
        await asyncio.sleep(3600)
        assert workload.contacts == 2


async def test_a_missing_connection_is_not_logged_as_an_error() -> None:
    assert is_transient(NotConnected("yet"))


async def test_connections_to_a_starting_server_back_off_until_a_trigger() -> None:
    async with running() as here:
        here.clusters["one"] = workload = Workload()
        workload.fault = Unreachable("connection refused")
        here.management.put(secret("one"))
        await asyncio.sleep(1)
        assert 2 <= workload.contacts <= 5
        await asyncio.sleep(600)
        assert workload.contacts < 65
        health = here.connections.health(ONE)
        assert not health.connected
        assert "connection refused" in health.reason
        assert health.failures == workload.contacts
        waiting = here.connections.controller.wait_reason(ONE)
        assert waiting is not None
        assert "connection refused" in waiting
        workload.fault = None
        here.connections.trigger_probe(ONE)
        await asyncio.sleep(0.01)
        assert here.connected(ONE)


@pytest.mark.parametrize("takes", [3, 20, 45, 120])
async def test_a_starting_server_is_connected_soon(takes: int) -> None:
    async with running() as here:
        here.clusters["one"] = workload = Workload()
        workload.fault = Unreachable("connection refused")
        here.management.put(secret("one"))
        await asyncio.sleep(takes)
        workload.fault = None
        await asyncio.sleep(1 + takes / 8)
        assert here.connected(ONE)


async def test_a_server_that_never_answers_does_not_keep_the_others_waiting() -> None:
    async with running() as here:
        for number in range(20):
            here.clusters[f"c{number}"] = Workload()
            here.clusters[f"c{number}"].fault = TimeoutError()
            here.management.put(secret(f"c{number}"))
        here.clusters["one"] = Workload()
        here.management.put(secret("one"))
        await asyncio.sleep(0.1)
        assert here.connected(ONE)
        await asyncio.sleep(10)
        assert "no answer within 5 seconds" in here.connections.health(Key("default", "c3")).reason


async def test_a_lost_connection_is_retried() -> None:
    async with running() as here:
        here.management.put(secret("one"))
        await asyncio.sleep(5)
        assert "nobody is at one" in here.connections.health(ONE).reason
        here.clusters["one"] = Workload()
        await asyncio.sleep(30)
        assert here.connected(ONE)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("%%%", "not base64"),
        (base64.b64encode(b"a: [").decode(), "line 2"),
        (base64.b64encode(b"kind: Config").decode(), "no context"),
    ],
)
async def test_a_broken_kubeconfig_is_reported_and_waits_for_a_better_one(
    value: str, why: str
) -> None:
    async with running() as here:
        here.clusters["one"] = Workload()
        here.management.put(secret("one", value))
        await asyncio.sleep(1)
        assert why in here.connections.health(ONE).reason
        assert here.connections.controller.wait_reason(ONE) is None
        here.management.put(secret("one"))
        await asyncio.sleep(0.01)
        assert here.connected(ONE)


async def test_only_kubeconfig_secrets_are_connections() -> None:
    async with running() as here:
        here.clusters["one"] = Workload()
        other, unlabelled = secret("one"), secret("one")
        other["metadata"]["name"] = "one-user-kubeconfig"
        unlabelled["metadata"]["labels"] = {}
        for document in (other, unlabelled):
            here.management.put(document)
        await asyncio.sleep(100)
        assert here.told == []
        assert here.clusters["one"].contacts == 0


async def test_an_informer_is_there_once_it_has_its_list_and_follows() -> None:
    async with running() as here:
        here.clusters["one"] = workload = Workload()
        workload.nodes.put({"kind": "Node", "metadata": {"name": "n1"}})
        here.management.put(secret("one"))
        await asyncio.sleep(1)
        with pytest.raises(NotConnected, match="not read yet"):
            here.connections.informer(ONE, NODES)
        await asyncio.sleep(1)
        assert [name for _, name in here.told] == ["one", "one"]
        nodes = here.connections.informer(ONE, NODES)
        assert nodes is here.connections.informer(ONE, NODES)
        assert [document["metadata"]["name"] for document in nodes.list()] == ["n1"]
        workload.nodes.put({"kind": "Node", "metadata": {"name": "n2"}})
        await asyncio.sleep(1)
        assert len(nodes.list()) == 2
        client = here.connections.client(ONE)
        await client.patch(NODES, Key("", "n1"), {"metadata": {"labels": {"a": "b"}}})
        node = nodes.get(Key("", "n1"))
        assert node is not None
        assert node["metadata"]["labels"] == {"a": "b"}


async def test_managed_fields_of_nodes_are_not_cached() -> None:
    """Neither of those that were listed, nor of those that came later, nor after an own write."""
    noted = [{"manager": "kubelet", "operation": "Update", "fieldsV1": {"f:status": {}}}]
    async with running() as here:
        here.clusters["one"] = workload = Workload(over_network=True)
        here.management.put(secret("one"))
        for name in ("listed", "later"):
            metadata = {"name": name, "managedFields": noted}
            workload.nodes.put({"kind": "Node", "metadata": metadata})
            await asyncio.sleep(1)
            with suppress(NotConnected):
                here.connections.informer(ONE, NODES)
        await asyncio.sleep(1)
        client, nodes = here.connections.client(ONE), here.connections.informer(ONE, NODES)
        await client.patch(NODES, Key("", "later"), {"metadata": {"labels": {"a": "b"}}})
        assert {document["metadata"]["name"] for document in nodes.list()} == {"listed", "later"}
        assert not [
            document for document in nodes.list() if "managedFields" in document["metadata"]
        ]


async def test_a_deleted_secret_ends_the_connection_and_its_tasks() -> None:
    async with running() as here:
        for name in ("one", "two"):
            here.clusters[name] = Workload()
            here.management.put(secret(name))
        await asyncio.sleep(1)
        for cluster in (ONE, TWO):
            with pytest.raises(NotConnected):
                here.connections.informer(cluster, NODES)
        await asyncio.sleep(1)
        assert here.tasks == {"default/one nodes", "default/two nodes"}
        here.told.clear()
        here.management.remove("one-kubeconfig")
        await asyncio.sleep(1)
        assert here.tasks == {"default/two nodes"}
        assert [name for _, name in here.told] == ["one"]
        with pytest.raises(NotConnected):
            here.connections.informer(ONE, NODES)
        assert here.clusters["one"].open == 0
        assert here.clusters["one"].nodes.watches == 0
        assert here.connected(TWO)


async def test_a_new_kubeconfig_is_a_new_connection() -> None:
    async with running() as here:
        here.clusters["one"], here.clusters["one-b"] = Workload(), Workload()
        here.management.put(secret("one"))
        await asyncio.sleep(1)
        here.management.put(secret("one", kubeconfig("one", "-b")))
        await asyncio.sleep(1)
        assert here.connected(ONE)
        assert (here.clusters["one"].open, here.clusters["one-b"].open) == (0, 1)
        labelled = secret("one", kubeconfig("one", "-b"))
        labelled["metadata"]["annotations"] = {"note": "nothing new"}
        here.management.put(labelled)
        await asyncio.sleep(1)
        assert here.clusters["one-b"].contacts == 1


async def test_a_reconnected_cluster_is_enqueued_again() -> None:
    keys_told: list[str] = []

    def keys(cluster: Key, change: Change) -> Iterable[Key]:
        return (Key(cluster.name, Key.of(change.document).name),)

    async def reconcile(key: Key) -> Result:
        keys_told.append(str(key))
        return DONE

    controller = Controller("nodes", reconcile)

    async def watch(here: WorkloadClusters) -> Any:
        for _ in range(3):
            try:
                here.connections.watch(controller, ONE, NODES, keys)
            except NotConnected:
                await asyncio.sleep(1)

    async with running() as here, asyncio.TaskGroup() as group:
        task = group.create_task(controller.run())
        here.clusters["one"] = workload = Workload()
        workload.nodes.put({"kind": "Node", "metadata": {"name": "n"}})
        here.management.put(secret("one"))
        await asyncio.sleep(1)
        await watch(here)
        await asyncio.sleep(1)
        assert keys_told == ["one/n"]
        here.management.remove("one-kubeconfig")
        await asyncio.sleep(1)
        here.management.put(secret("one"))
        await asyncio.sleep(1)
        await watch(here)
        await asyncio.sleep(1)
        assert keys_told == ["one/n", "one/n"]
        workload.nodes.put({"kind": "Node", "metadata": {"name": "n", "labels": {"a": "b"}}})
        await asyncio.sleep(1)
        assert len(keys_told) == 3
        task.cancel()


async def test_the_objects_of_a_newly_connected_cluster_are_enqueued() -> None:
    names_told: list[str] = []

    async def reconcile(key: Key) -> Result:
        names_told.append(key.name)
        return DONE

    controller = Controller("nodes", reconcile, concurrency=1)
    async with running() as here:
        here.clusters["one"] = workload = Workload()
        workload.nodes.put({"kind": "Node", "metadata": {"name": "n"}})
        here.management.put(secret("one"))
        await asyncio.sleep(1)
        with pytest.raises(NotConnected):
            here.connections.informer(ONE, NODES)
        await asyncio.sleep(1)
        controller.enqueue(Key("", "later"), priority=-1)
        keys = {Key("", "n"): "n"}
        here.connections.watch(controller, ONE, NODES, lambda cluster, change: keys)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(controller.run())
            await asyncio.sleep(1)
            task.cancel()
    assert names_told == ["n", "later"]


async def test_idle_clusters_cost_no_tasks() -> None:
    async with running() as here:
        tasks = []
        for start in (0, 300):  # the first ones may make workers come, which stay
            for number in range(start, start + 300):
                here.clusters[f"c{number}"] = Workload()
                here.management.put(secret(f"c{number}"))
            await asyncio.sleep(10)
            tasks.append(len(asyncio.all_tasks()))
        assert all(here.connected(Key("default", f"c{number}")) for number in range(600))
        assert tasks[0] == tasks[1]


async def test_all_connections_recover_after_faults() -> None:
    async with running() as here:
        ways: list[Faults] = []

        def dial(kubeconfig: Kubeconfig) -> Transport:
            rates = Rates(lost_request=0.3, lost_answer=0.1, broken=0.1, watch_breaks=0.2)
            ways.append(Faults(here.dial(kubeconfig), rates, seed=len(ways)))
            return ways[-1]

        here.connections._dial = dial
        fleet = [Key("default", f"c{number}") for number in range(100)]
        for cluster in fleet:
            here.clusters[cluster.name] = Workload(over_network=True)
            here.management.put(secret(cluster.name))
        request = dict[Key, int]()
        for minute in range(10):
            for cluster in fleet:
                with suppress(NotConnected):
                    here.connections.informer(cluster, NODES)
            await asyncio.sleep(60)
            for cluster in fleet:
                workload = here.clusters[cluster.name]
                total = workload.contacts + len(workload.nodes.requests)
                assert total - request.get(cluster, 0) < 60, f"{cluster} in minute {minute}"
                request[cluster] = total
        assert sum(way.happened.total() for way in ways) > 1000
        for way in ways:
            way.calm()
        here.connections._dial = here.dial
        await asyncio.sleep(60)
        for cluster in fleet:
            with suppress(NotConnected):
                here.connections.informer(cluster, NODES)
        for cluster in fleet:
            here.clusters[cluster.name].nodes.put({"kind": "Node", "metadata": {"name": "n"}})
        await asyncio.sleep(60)
        for cluster in fleet:
            assert here.connections.health(cluster).failures == 0
            assert len(here.connections.informer(cluster, NODES).list()) == 1
            assert here.clusters[cluster.name].open == 1


async def test_connections_are_shown_in_the_metrics() -> None:
    async with running() as here:
        for name in ("one", "two", "three"):
            here.clusters[name] = Workload(over_network=name != "three")
            here.management.put(secret(name))
        here.clusters["two"].fault = Unreachable("down")
        await asyncio.sleep(25)
        passed = here.clusters["one"].contacts - 1
        here.clusters["one"].fault = ServerError("no leader")
        await asyncio.sleep(10)
        lines = here.runtime.metrics.text().decode().splitlines()
    for name, up in (("one", 1), ("two", 0), ("three", 1)):
        labels = f'cluster_name="{name}",cluster_namespace="default"'
        assert f"capi_cluster_cache_connection_up{{{labels}}} {up}.0" in lines
    labels = 'cluster_name="one",cluster_namespace="default"'
    assert f"capi_cluster_cache_healthcheck{{{labels}}} 0.0" in lines
    for status, count in (("success", passed), ("error", 1)):
        text = f'capi_cluster_cache_healthchecks_total{{{labels},status="{status}"}} {count}.0'
        assert text in lines
    assert not [line for line in lines if "healthcheck" in line and 'cluster_name="three"' in line]
    assert 'controller_runtime_max_concurrent_reconciles{controller="clustercache"} 100.0' in lines
