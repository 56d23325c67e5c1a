"""A MachineHealthCheck over many Machines: what one look at them costs."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from benchmarks.machines import MACHINES, machine
from benchmarks.measure import percentile
from kapy._aio.clock import system_clock
from kapy.api.cluster import Cluster
from kapy.api.machine_health_check import MachineHealthCheck
from kapy.api.times import stamp
from kapy.apiserver.server import Server
from kapy.apps.definitions import install_definitions
from kapy.client.client import Client
from kapy.client.intercept import RequestCounter
from kapy.core.machinehealthcheck.controller import add_to
from kapy.engine.controller import Controller
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.http import ADMIN
from kapy.kube.names import NODES, SECRETS
from kapy.remote.cluster_cache import ClusterCache

Row = dict[str, Any]
CLUSTER: Final = Key("default", "herd")
LOOKS: Final = 20
PAUSE: Final = 0.3  # seconds; longer than a look takes
KUBECONFIG: Final = b"""
{apiVersion: v1, kind: Config, current-context: x,
 clusters: [{name: c, cluster: {server: "https://herd:6443"}}],
 users: [{name: u, user: {token: t}}],
 contexts: [{name: x, context: {cluster: c, user: u}}]}
"""


async def look_at(machines: int) -> list[Row]:
    """The first look, which marks every Machine; then looks with nothing to say."""
    async with _herd(machines) as (runtime, controller, client):
        transport = runtime.client.transport
        assert isinstance(transport, RequestCounter)
        counts = transport.counts
        await client.create(MachineHealthCheck.RESOURCE, _check())
        await _settled(client, machines)
        first = controller.counters.reconcile.sum
        await asyncio.sleep(1)
        before, key = counts.total(), Key("default", "all")
        took = [await _look(controller, key) for _ in range(LOOKS)]
        return [
            {"step": f"{machines} Machines marked", "wall_s": round(first, 4)},
            {
                "step": f"{machines} settled Machines",
                "wall_s": round(percentile(took, 0.5), 4),
                "p99_s": round(percentile(took, 0.99), 4),
                "requests_total": counts.total() - before,
            },
        ]


async def _look(controller: Controller, key: Key) -> float:
    """The seconds of one reconcile."""
    before = controller.counters.reconcile.sum
    controller.enqueue(key)
    await asyncio.sleep(PAUSE)
    return controller.counters.reconcile.sum - before


async def _settled(client: Client, machines: int) -> None:
    while True:
        machine_health_check = await client.get(MachineHealthCheck, Key("default", "all"))
        if machine_health_check.status.current_healthy == machines:
            return
        await asyncio.sleep(0.05)


@asynccontextmanager
async def _herd(machines: int) -> AsyncIterator[tuple[Runtime, Controller, Client]]:
    """One controller, and servers that hold a Cluster with running Machines and their Nodes."""
    servers = [Server.open(None, clock=system_clock) for _ in range(2)]
    management, workload = (Client(item.transport(ADMIN)) for item in servers)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(item.run()) for item in servers]
        await asyncio.sleep(0)
        await install_definitions(management)
        await _fill(management, workload, machines)
        runtime = Runtime.on(servers[0].transport(ADMIN), clock=system_clock)
        connections = ClusterCache(runtime, dial=lambda _: servers[1].transport(ADMIN))
        controller = add_to(runtime, connections)
        tasks += [group.create_task(item()) for item in (runtime.run, connections.run)]
        await runtime.working.wait()
        yield runtime, controller, management
        for task in tasks:
            task.cancel()
    for server in servers:
        server.close()


async def _fill(management: Client, workload: Client, machines: int) -> None:
    await _with_status(management, Cluster.RESOURCE.kind, _cluster())
    await management.create(SECRETS, _kubeconfig())
    for number in range(machines):
        document = machine(number)
        name = document["metadata"]["name"]
        document["status"] = {"nodeRef": {"name": name}, "conditions": _good("InfrastructureReady")}
        await _with_status(management, MACHINES.kind, document)
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": stamp(system_clock())}
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
        await workload.create(NODES, {**node, "status": {"conditions": [ready]}})


async def _with_status(client: Client, kind: str, document: Document) -> None:
    resource = MACHINES if kind == MACHINES.kind else Cluster.RESOURCE
    await client.create(resource, document)
    patch = {"status": document["status"]}
    await client.patch(resource, Key.of(document), patch, subresource="status")


def _good(*types: str) -> list[Document]:
    messages = {"status": "True", "reason": "Good", "message": ""}
    since = stamp(system_clock())
    return [{"type": text, "lastTransitionTime": since, **messages} for text in types]


def _cluster() -> Document:
    return {
        "apiVersion": Cluster.RESOURCE.api_version,
        "kind": "Cluster",
        "metadata": {"name": CLUSTER.name, "namespace": CLUSTER.namespace},
        "spec": {"controlPlaneEndpoint": {"host": "herd", "port": 6443}},
        "status": {"conditions": _good("ControlPlaneInitialized", "InfrastructureReady")},
    }


def _kubeconfig() -> Document:
    metadata = {
        "name": f"{CLUSTER.name}-kubeconfig",
        "namespace": CLUSTER.namespace,
        "labels": {"cluster.x-k8s.io/cluster-name": CLUSTER.name},
    }
    data = {"value": base64.b64encode(KUBECONFIG).decode()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}


def _check() -> Document:
    states = ("False", "Unknown")
    conditions = [{"type": "Ready", "status": state, "timeoutSeconds": 300} for state in states]
    return {
        "apiVersion": MachineHealthCheck.RESOURCE.api_version,
        "kind": "MachineHealthCheck",
        "metadata": {"name": "all", "namespace": "default"},
        "spec": {
            "clusterName": CLUSTER.name,
            "selector": {"matchLabels": {"cluster.x-k8s.io/cluster-name": CLUSTER.name}},
            "checks": {"nodeStartupTimeoutSeconds": 600, "unhealthyNodeConditions": conditions},
        },
    }
