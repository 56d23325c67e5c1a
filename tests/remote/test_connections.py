"""How connections to workload clusters come and go, on virtual time."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from random import Random
from typing import Any

import pytest

from kapy._aio.clock import loop_clock
from kapy.engine.cache import Change
from kapy.engine.controller import Controller
from kapy.engine.failure import is_ordinary
from kapy.engine.result import DONE, Result
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.errors import ApiError, NotFound, ServerError, Unauthorized, Unreachable
from kapy.kube.http import Reply, Request, Transport
from kapy.kube.names import NODES
from kapy.remote.connections import Connections, Kubeconfig, NotConnected
from kapy.testing.faults import Faults, Rates
from tests.engine.fake_server import FakeServer

ONE, TWO = Key("default", "one"), Key("default", "two")


class Workload:
    """A workload cluster's API server: nodes, and a version for those who ask."""

    def __init__(self, *, over_network: bool = False) -> None:
        self.nodes = FakeServer("nodes")
        self.version: Document | bytes | None = {"major": "1"}
        self.fault: Exception | None = None
        self.over_network = over_network
        self.contacts = 0
        self.open = 0

    async def __call__(self, request: Request) -> Reply:
        if request.path == "/version":
            self.contacts += 1
        if isinstance(self.fault, ApiError):
            return Reply(self.fault.code, self.fault.status())
        if self.fault is not None:
            if isinstance(self.fault, TimeoutError):
                await asyncio.sleep(10_000)
            raise self.fault
        if request.path == "/version":
            if self.version is None:
                return Reply(404, NotFound("page not found").status())
            return Reply(200, self.version)
        if request.path == "/api":
            return Reply(200, {"kind": "APIVersions", "versions": ["v1"]})
        return await self.nodes(request)

    async def aclose(self) -> None:
        self.open -= 1


def kubeconfig(cluster: str, version: str = "") -> str:
    text = f"""
apiVersion: v1
kind: Config
clusters: [{{name: c, cluster: {{server: "https://{cluster}{version}:6443"}}}}]
users: [{{name: u, user: {{token: t}}}}]
contexts: [{{name: x, context: {{cluster: c, user: u}}}}]
current-context: x
"""
    return base64.b64encode(text.encode()).decode()


def secret(cluster: str, value: str = "") -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": f"{cluster}-kubeconfig",
            "namespace": "default",
            "labels": {"cluster.x-k8s.io/cluster-name": cluster},
        },
        "type": "cluster.x-k8s.io/secret",
        "data": {"value": value or kubeconfig(cluster)},
    }


class Setting:
    def __init__(self, *, probing: bool) -> None:
        self.management = FakeServer("secrets")
        self.clusters: dict[str, Workload] = {}
        self.runtime = Runtime.on(self.management, clock=loop_clock(), random=Random(5))
        self.connections = Connections(self.runtime, dial=self.dial, probing=probing)
        self.told: list[tuple[float, str]] = []
        self.connections.subscribe(self._note)

    def _note(self, cluster: Key) -> None:
        self.told.append((round(asyncio.get_running_loop().time()), cluster.name))

    def dial(self, kubeconfig: Kubeconfig) -> Transport:
        name = kubeconfig.server.removeprefix("https://").split(":")[0]
        if name not in self.clusters:
            raise Unreachable(f"nobody is at {name}")
        self.clusters[name].open += 1
        return self.clusters[name]

    def connected(self, cluster: Key) -> bool:
        return self.connections.health(cluster).connected

    @property
    def tasks(self) -> set[str]:
        names = {task.get_name() for task in asyncio.all_tasks()}
        return {name for name in names if "nodes" in name}


@asynccontextmanager
async def running(*, probing: bool = True) -> AsyncIterator[Setting]:
    here = Setting(probing=probing)
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(here.runtime.run()),
            group.create_task(here.connections.run()),
        ]
        await here.runtime.cache.synced()
        yield here
        for task in tasks:
            task.cancel()
    assert len(asyncio.all_tasks()) == 1
    assert all(workload.open == 0 for workload in here.clusters.values())


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


async def test_not_connected_is_nothing_to_shout_about() -> None:
    assert is_ordinary(NotConnected("yet"))


async def test_a_server_that_is_not_up_yet_is_tried_ever_more_seldom_and_at_once_when_poked() -> (
    None
):
    async with running() as here:
        here.clusters["one"] = workload = Workload()
        workload.fault = Unreachable("connection refused")
        here.management.put(secret("one"))
        await asyncio.sleep(1)
        assert 2 <= workload.contacts <= 5
        await asyncio.sleep(600)
        assert workload.contacts < 40
        health = here.connections.health(ONE)
        assert not health.connected
        assert "connection refused" in health.because
        assert health.failures == workload.contacts
        waiting = here.connections.controller.waiting(ONE)
        assert waiting is not None
        assert "connection refused" in waiting
        workload.fault = None
        here.connections.poke(ONE)
        await asyncio.sleep(0.01)
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
        assert "no answer within 5 seconds" in here.connections.health(Key("default", "c3")).because


async def test_a_cluster_nobody_dials_is_tried_again() -> None:
    async with running() as here:
        here.management.put(secret("one"))
        await asyncio.sleep(5)
        assert "nobody is at one" in here.connections.health(ONE).because
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
async def test_a_broken_kubeconfig_is_said_and_waits_for_a_better_one(value: str, why: str) -> None:
    async with running() as here:
        here.clusters["one"] = Workload()
        here.management.put(secret("one", value))
        await asyncio.sleep(1)
        assert why in here.connections.health(ONE).because
        assert here.connections.controller.waiting(ONE) is None
        here.management.put(secret("one"))
        await asyncio.sleep(0.01)
        assert here.connected(ONE)


async def test_only_kubeconfig_secrets_are_connections() -> None:
    async with running() as here:
        here.clusters["one"] = Workload()
        other = secret("one")
        other["metadata"]["name"] = "one-user-kubeconfig"
        here.management.put(other)
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
        assert [one["metadata"]["name"] for one in nodes.list()] == ["n1"]
        workload.nodes.put({"kind": "Node", "metadata": {"name": "n2"}})
        await asyncio.sleep(1)
        assert len(nodes.list()) == 2
        client = here.connections.client(ONE)
        await client.patch(NODES, Key("", "n1"), {"metadata": {"labels": {"a": "b"}}})
        found = nodes.get(Key("", "n1"))
        assert found is not None
        assert found["metadata"]["labels"] == {"a": "b"}


async def test_what_writers_noted_about_nodes_is_not_kept() -> None:
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
        assert {one["metadata"]["name"] for one in nodes.list()} == {"listed", "later"}
        assert not [one for one in nodes.list() if "managedFields" in one["metadata"]]


async def test_a_secret_that_goes_takes_the_connection_and_its_tasks_with_it() -> None:
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


async def test_where_nobody_asks_how_it_fares_a_connection_is_probed_when_it_fails() -> None:
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


async def test_who_tells_no_version_is_asked_for_those_of_its_api() -> None:
    async with running() as here:
        here.clusters["one"] = workload = Workload(over_network=True)
        workload.version = None
        here.management.put(secret("one"))
        await asyncio.sleep(60)
        assert here.connected(ONE)


@pytest.mark.parametrize("version", [b"<html>welcome</html>", {"hello": "world"}, {}])
async def test_who_talks_nonsense_is_no_api_server(version: Document | bytes) -> None:
    async with running() as here:
        here.clusters["one"] = workload = Workload(over_network=True)
        here.clusters["two"] = Workload(over_network=True)
        workload.version = version
        for name in ("one", "two"):
            here.management.put(secret(name))
        await asyncio.sleep(600)
        assert here.connected(TWO)
        assert not here.connected(ONE)
        assert here.connections.health(ONE).because
        assert workload.contacts < 40
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


async def test_in_process_nothing_is_probed_until_somebody_gets_no_answer() -> None:
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
        here.connections.poke(ONE)
        await asyncio.sleep(1)
        assert here.connected(ONE)
        assert (elsewhere.open, moved.open, moved.contacts) == (0, 1, 1)


async def test_a_short_absence_is_told_and_forgiven() -> None:
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


async def test_what_is_watched_goes_on_as_soon_as_a_probe_passes() -> None:
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


async def test_a_controller_hears_of_a_cluster_again_after_it_was_lost() -> None:
    seen: list[str] = []

    def keys(cluster: Key, change: Change) -> Iterable[Key]:
        return (Key(cluster.name, Key.of(change.document).name),)

    async def reconcile(key: Key) -> Result:
        seen.append(str(key))
        return DONE

    controller = Controller("nodes", reconcile)

    async def watch(here: Setting) -> Any:
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
        assert seen == ["one/n"]
        here.management.remove("one-kubeconfig")
        await asyncio.sleep(1)
        here.management.put(secret("one"))
        await asyncio.sleep(1)
        await watch(here)
        await asyncio.sleep(1)
        assert seen == ["one/n", "one/n"]
        workload.nodes.put({"kind": "Node", "metadata": {"name": "n", "labels": {"a": "b"}}})
        await asyncio.sleep(1)
        assert len(seen) == 3
        task.cancel()


async def test_what_a_cluster_holds_when_it_is_first_read_is_news() -> None:
    seen: list[str] = []

    async def reconcile(key: Key) -> Result:
        seen.append(key.name)
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
    assert seen == ["n", "later"]


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


async def test_a_fleet_on_a_bad_day_is_whole_again_when_it_is_calm() -> None:
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
        asked = dict[Key, int]()
        for minute in range(10):
            for cluster in fleet:
                with suppress(NotConnected):
                    here.connections.informer(cluster, NODES)
            await asyncio.sleep(60)
            for cluster in fleet:
                workload = here.clusters[cluster.name]
                total = workload.contacts + len(workload.nodes.requests)
                assert total - asked.get(cluster, 0) < 60, f"{cluster} in minute {minute}"
                asked[cluster] = total
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


async def test_connections_are_shown_to_whoever_scrapes() -> None:
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
        shown = f'capi_cluster_cache_healthchecks_total{{{labels},status="{status}"}} {count}.0'
        assert shown in lines
    assert not [one for one in lines if "healthcheck" in one and 'cluster_name="three"' in one]
    assert 'controller_runtime_max_concurrent_reconciles{controller="clustercache"} 100.0' in lines
