"""Workload clusters in a test's hands, and connections to them."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

from kapy._aio.clock import loop_clock
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.errors import ApiError, NotFound, Unreachable
from kapy.kube.http import Reply, Request, Transport
from kapy.remote.cluster_cache import ClusterCache, Kubeconfig
from tests.engine.fake_server import FakeServer

ONE = Key("default", "one")


TWO = Key("default", "two")


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


class WorkloadClusters:
    def __init__(self, *, probing: bool) -> None:
        self.management = FakeServer("secrets")
        self.clusters: dict[str, Workload] = {}
        self.runtime = Runtime.on(self.management, clock=loop_clock(), random=Random(5))
        self.connections = ClusterCache(self.runtime, dial=self.dial, probing=probing)
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
async def running(*, probing: bool = True) -> AsyncIterator[WorkloadClusters]:
    here = WorkloadClusters(probing=probing)
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(here.runtime.run()),
            group.create_task(here.connections.run()),
        ]
        await here.runtime.cache.wait_for_sync()
        yield here
        for task in tasks:
            task.cancel()
    assert len(asyncio.all_tasks()) == 1
    assert all(workload.open == 0 for workload in here.clusters.values())
