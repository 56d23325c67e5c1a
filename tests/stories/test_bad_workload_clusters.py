"""Workload clusters that answer late, never or with nonsense hold up nobody but themselves.

All controllers run as they do in a plane, and reach the clusters as over a network.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import pytest

from kapy.api.cluster import Cluster
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine_deployment import MachineDeployment
from kapy.client.intercept import Interceptor
from kapy.client.kubeconfig import Kubeconfig
from kapy.kube.http import Reply, Request, Transport
from kapy.kube.names import CONFIG_MAPS, NAMESPACES, SECRETS
from kapy.providers.inmemory.fleet import InMemoryClusters
from kapy.testing.story import Story
from tests.stories.plane import own_kinds, running, sample
from tests.stories.test_fleet import CLUSTER, CONTROL_PLANE, WORKERS, available, is_true, settled

FINE, SILENT, SLOW, NONSENSE = "fine", "silent", "slow", "nonsense"
BAD = tuple(f"bad-{number}" for number in range(3))
GOOD = "good"
PROMPT = 60.0
"""Seconds in which a cluster grows with which all is well, and many times over that."""


class Weather:
    """The state of the connection to each workload cluster, by host and port."""

    def __init__(self) -> None:
        self.moods: dict[str, str] = {}

    def at(self, server: str) -> str:
        return self.moods.get(server.removeprefix("https://"), FINE)


class Way(Interceptor):
    """The way to one workload cluster."""

    __slots__ = ("_server", "_weather")

    def __init__(self, transport: Transport, server: str, weather: Weather) -> None:
        super().__init__(transport)
        self.over_network = True
        self.host = server
        self._server = server
        self._weather = weather

    async def __call__(self, request: Request) -> Reply:
        mood = self._weather.at(self._server)
        if mood == SILENT:
            await asyncio.get_running_loop().create_future()
        if mood == SLOW:
            await asyncio.sleep(4)
        if mood == NONSENSE:
            return Reply(200, b"<html>Welcome to the load balancer</html>")
        return await self.transport(request)


@pytest.fixture
def weather(monkeypatch: pytest.MonkeyPatch) -> Weather:
    """Over all clusters that a plane of this test makes."""
    there, direct = Weather(), InMemoryClusters.dial

    def dial(self: InMemoryClusters, kubeconfig: Kubeconfig) -> Transport:
        return Way(direct(self, kubeconfig), kubeconfig.server, there)

    monkeypatch.setattr(InMemoryClusters, "dial", dial)
    return there


async def started(story: Story, namespaces: Iterable[str]) -> None:
    """A cluster in each namespace, as large as the sample."""
    for name in namespaces:
        await story.create([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}])
        for document in sample():
            document["metadata"]["namespace"] = name
            if document["kind"] == "KubeadmControlPlane":
                configuration = document["spec"]["kubeadmConfigSpec"]["clusterConfiguration"]
                configuration["encryptionAlgorithm"] = "ECDSA-P256"
            await story.create([document])
    for name in namespaces:
        await story.until(Cluster, CLUSTER, available, namespace=name)
        await story.until(MachineDeployment, WORKERS, settled(2), namespace=name)


async def grow(story: Story, namespace: str) -> None:
    """Ask for more of everything: workers, control plane machines."""
    for kind, name, replicas in (
        (MachineDeployment, WORKERS, 5),
        (KubeadmControlPlane, CONTROL_PLANE, 3),
    ):
        await story.merge(kind, name, {"spec": {"replicas": replicas}}, namespace)


async def has_grown(story: Story, namespace: str, within: float) -> None:
    await story.until(MachineDeployment, WORKERS, settled(5), namespace=namespace, within=within)
    await story.until(
        KubeadmControlPlane,
        CONTROL_PLANE,
        lambda kcp: kcp.status.ready_replicas == 3 and available(kcp),
        namespace=namespace,
        within=within,
    )


async def endpoint(story: Story, namespace: str) -> str:
    cluster = await story.get(Cluster, CLUSTER, namespace)
    assert cluster is not None
    there = cluster.spec.control_plane_endpoint
    return f"{there.host}:{there.port}"


@pytest.mark.parametrize("mood", [SILENT, SLOW, NONSENSE])
async def test_a_bad_workload_cluster_delays_no_other(mood: str, weather: Weather) -> None:
    async with running() as plane:
        story = Story(plane.client, [*own_kinds(), NAMESPACES, SECRETS, CONFIG_MAPS])
        await started(story, (*BAD, GOOD))
        weather.moods = {await endpoint(story, name): mood for name in BAD}

        for name in (*BAD, GOOD):  # the bad ones first, with more Machines than there are workers
            await grow(story, name)
        await has_grown(story, GOOD, PROMPT)
        await story.settle(120)
        for name in BAD:
            cluster = await story.get(Cluster, CLUSTER, name)
            assert cluster is not None
            assert is_true(cluster, "RemoteConnectionProbe") == (mood == SLOW), name

        weather.moods = {}
        for name in BAD:
            await has_grown(story, name, PROMPT)
