"""The life of a real cluster, through kapy alone, from its creation to its deletion.

The steps build on each other, so they are one test: a cluster takes most of a minute.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from kapy._aio.clock import system_clock
from kapy.api.cluster import Cluster
from kapy.api.kinds import KINDS
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_health_check import MachineHealthCheck
from kapy.api.names import ConditionType, Label
from kapy.apps.all_in_one import Plane, management_plane
from kapy.apps.settings import Serving, Settings
from kapy.conditions import is_true
from kapy.kube import Document, Key
from kapy.kube.names import CONFIG_MAPS, NODES, PODS
from kapy.providers.docker.engine import Engine
from kapy.testing.story import Story
from tests.real_clusters.engine import container_engine
from tests.real_clusters.images import PAUSE_IMAGE
from tests.real_clusters.parts import VERSION, tell

pytestmark = pytest.mark.sockets
HERE = Path(__file__).parent
CLUSTER = Key("default", "real")
PATIENCE = 900.0
"""Seconds for a step on a busy machine; each ends with what it waits for."""


class Life:
    """One person with a plane and a cluster, and a watch to look at."""

    def __init__(self, plane: Plane, engine: Engine) -> None:
        self.plane = plane
        self.engine = engine
        self.story = Story(plane.client, [*(one.type_of().RESOURCE for one in KINDS), CONFIG_MAPS])
        self._begun = time.monotonic()

    def done(self, step: str) -> None:
        """Say how long a step took."""
        now = time.monotonic()
        tell(f"{step}: {now - self._begun:.0f} s")
        self._begun = now

    async def until(self, kind: type[Any], name: str, holds: Any) -> Any:
        """Wait for a state of an object of the plane."""
        return await self.story.until(kind, name, holds, within=PATIENCE)

    async def machines(self, label: str) -> list[Machine]:
        """The Machines with a label."""
        found = await self.story.all(Machine)
        return [one for one in found if label in one.metadata.labels]

    async def scaled_control_plane(self, replicas: int) -> None:
        """Scale the control plane, and wait until exactly that many serve."""
        await self.story.merge(KubeadmControlPlane, "real", {"spec": {"replicas": replicas}})
        await self.until(
            KubeadmControlPlane,
            "real",
            lambda one: one.status.replicas == one.status.available_replicas == replicas,
        )

    async def scaled_workers(self, replicas: int) -> None:
        """Scale the workers, and wait until exactly that many are available."""
        await self.story.merge(MachineDeployment, "workers", {"spec": {"replicas": replicas}})
        await self.until(
            MachineDeployment,
            "workers",
            lambda one: one.status.replicas == one.status.available_replicas == replicas,
        )

    async def nodes(self) -> list[Document]:
        """The Nodes of the workload cluster."""
        client = self.plane.connections.client(CLUSTER)
        return list((await client.list(NODES)).items)

    async def pod_runs(self, name: str) -> Document:
        """Make a Pod, and wait until it runs."""
        client = self.plane.connections.client(CLUSTER)
        spec = {"containers": [{"name": "pause", "image": PAUSE_IMAGE}]}
        metadata = {"name": name, "namespace": "default"}
        await client.create(
            PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        )
        async with asyncio.timeout(PATIENCE):
            while True:
                found = await client.get(PODS, Key("default", name))
                if (found.get("status") or {}).get("phase") == "Running":
                    return found
                await asyncio.sleep(0.5)


@asynccontextmanager
async def living(folder: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Life]:
    """An engine and a plane."""
    async with container_engine(folder) as engine:
        monkeypatch.setenv("DOCKER_HOST", engine.address)
        settings = Settings(serving=Serving())
        async with management_plane(settings, clock=system_clock) as plane:
            yield Life(plane, engine)


async def test_a_real_cluster_lives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with living(tmp_path, monkeypatch) as life:
        await create(life)
        await scale(life)
        await heal(life)
        await lose_the_load_balancer(life)
        await delete(life)


async def test_the_quickstart_gives_a_real_cluster(tmp_path: Path) -> None:
    async with container_engine(tmp_path) as engine:
        command = ("quickstart", "--infrastructure", "docker", "--kubernetes-version", VERSION)
        quickstart = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "kapy.cli.main", *command, "--exit", "--port", "0"),
            env={**os.environ, "DOCKER_HOST": engine.address, "HOME": str(tmp_path)},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        assert quickstart.stdout is not None
        said = (await quickstart.stdout.read()).decode()
        assert await quickstart.wait() == 0, said
        assert "Cluster default/capybara is Available: 1 control plane + 1 worker" in said
        assert "containers are gone" in said
        assert await engine.containers() == []
        tell(next(line for line in said.splitlines() if "is Available" in line))


async def create(life: Life) -> None:
    """One control plane machine and one worker, on which a Pod runs."""
    config_map: Document = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "network", "namespace": "default"},
        "data": {"network.yaml": (HERE / "network.yaml").read_text()},
    }
    await life.plane.client.create(CONFIG_MAPS, config_map)
    await life.story.create((HERE / "cluster.yaml").read_text())
    await life.until(
        Cluster, "real", lambda one: is_true(one.status.conditions, ConditionType.AVAILABLE)
    )
    life.done("1 + 1 machines, from nothing to Available")
    nodes = await life.nodes()
    assert len(nodes) == 2
    for node in nodes:
        assert node["spec"]["providerID"] == f"docker:////{node['metadata']['name']}"
    pod = await life.pod_runs("hello")
    (worker,) = await life.machines("role")
    assert worker.status.node_ref is not None
    assert pod["spec"]["nodeName"] == worker.status.node_ref.name
    life.done("a Pod runs")


async def scale(life: Life) -> None:
    """More workers; three members of etcd, and one again."""
    await life.scaled_workers(3)
    life.done("workers 1 to 3")
    await life.scaled_control_plane(3)
    life.done("control plane 1 to 3")
    balancer = await life.engine.run("real-lb", ["cat", "/usr/local/etc/haproxy/haproxy.cfg"])
    assert balancer.stdout.count("  server real-") == 3
    await life.scaled_control_plane(1)
    life.done("control plane 3 to 1")
    (left,) = await life.machines(Label.CONTROL_PLANE)
    balancer = await life.engine.run("real-lb", ["cat", "/usr/local/etc/haproxy/haproxy.cfg"])
    assert balancer.stdout.count("  server real-") == 1
    assert f"  server {left.metadata.name} " in balancer.stdout
    await life.scaled_workers(1)
    life.done("workers 3 to 1")


async def heal(life: Life) -> None:
    """A worker that is killed is replaced."""
    check = {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "MachineHealthCheck",
        "metadata": {"name": "workers", "namespace": "default"},
        "spec": {
            "clusterName": "real",
            "selector": {"matchLabels": {"role": "worker"}},
            "checks": {
                "unhealthyNodeConditions": [
                    {"type": "Ready", "status": "Unknown", "timeoutSeconds": 5}
                ]
            },
        },
    }
    await life.story.create([check])
    await life.until(MachineHealthCheck, "workers", lambda one: one.status.expected_machines == 1)
    (killed,) = await life.machines("role")
    assert killed.status.node_ref is not None
    await life.engine.kill(killed.status.node_ref.name)
    await life.story.until_gone(Machine, killed.metadata.name, within=PATIENCE)
    await life.until(MachineDeployment, "workers", lambda one: one.status.available_replicas == 1)
    assert len(await life.nodes()) == 2
    life.done("a killed worker was replaced")


async def lose_the_load_balancer(life: Life) -> None:
    """A load balancer that ends is started again at once, and the cluster is reached again."""
    await life.engine.kill("real-lb")
    async with asyncio.timeout(PATIENCE):
        while True:
            found = await life.engine.container("real-lb")
            if found is not None and found.is_running:
                break
            await asyncio.sleep(0.1)
    await life.until(
        Cluster,
        "real",
        lambda one: is_true(one.status.conditions, ConditionType.REMOTE_CONNECTION_PROBE),
    )
    await life.pod_runs("again")
    life.done("a load balancer that ended was started again")


async def delete(life: Life) -> None:
    """Nothing is left: no container, no volume."""
    await life.plane.client.delete(Cluster.RESOURCE, CLUSTER)
    await life.story.until_gone(Cluster, "real", within=PATIENCE)
    assert await life.engine.containers() == []
    life.done("deleted")
