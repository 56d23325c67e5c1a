"""Chapters of a cluster's life: what is killed is replaced."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.api.machine_health_check import MachineHealthCheck
from kapy.api.names import ConditionType, Label
from kapy.conditions import is_true
from tests.real_clusters.etcd_members import leading, members
from tests.real_clusters.life import PATIENCE, ROLE, Life
from tests.real_clusters.workload import watched


async def lose_a_worker(life: Life) -> None:
    """A worker that is killed is replaced."""
    workers = await life.machines(ROLE)
    await _check_health(life, "workers", {ROLE: "worker"}, len(workers))
    killed = workers[0]
    await life.engine.kill(life.node_of(killed))
    await life.story.until_gone(Machine, killed.metadata.name, within=PATIENCE)
    await life.workers_are(len(workers))
    names = {node["metadata"]["name"] for node in await life.nodes()}
    assert names == {life.node_of(machine) for machine in await life.machines()}
    life.done("a killed worker was replaced")


async def lose_the_leader(life: Life) -> None:
    """Of three members of etcd the one that leads is killed. The cluster stays, its Pods too; the
    machine is replaced, and etcd has the members that there are machines for."""
    control_plane = await life.control_plane()
    assert await members(life) == {life.node_of(machine) for machine in control_plane}
    await _check_health(life, "control-plane", {Label.CONTROL_PLANE: ""}, 3)
    leader = await leading(life)
    killed = next(machine for machine in control_plane if life.node_of(machine) == leader)
    async with watched(life):
        await life.engine.kill(leader)
        await life.story.until_gone(Machine, killed.metadata.name, within=PATIENCE)
        life.done("the machine of etcd's leader is killed and deleted")
        await life.control_plane_is(3)
    control_plane = await life.control_plane()
    nodes = {life.node_of(machine) for machine in control_plane}
    assert leader not in nodes
    assert await members(life) == nodes
    assert nodes <= {node["metadata"]["name"] for node in await life.nodes()}
    assert await life.engine.container(leader) is None
    life.done("it is replaced: three members, none lost and none left over")


async def lose_the_load_balancer(life: Life) -> None:
    """A load balancer that ends is started again at once, and the cluster is reached again."""
    await life.engine.kill("real-lb")
    async with asyncio.timeout(PATIENCE):
        while True:
            container = await life.engine.container("real-lb")
            if container is not None and container.is_running:
                break
            await asyncio.sleep(0.1)
    await life.until(
        Cluster,
        "real",
        lambda value: is_true(value.status.conditions, ConditionType.REMOTE_CONNECTION_PROBE),
    )
    await life.pod_runs("again")
    life.done("a load balancer that ended was started again")


async def _check_health(life: Life, name: str, labels: Mapping[str, str], expected: int) -> None:
    """Have Machines with these labels replaced once their Node is not heard of."""
    check = {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "MachineHealthCheck",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "clusterName": "real",
            "selector": {"matchLabels": dict(labels)},
            "checks": {
                "unhealthyNodeConditions": [
                    {"type": "Ready", "status": "Unknown", "timeoutSeconds": 5}
                ]
            },
        },
    }
    await life.story.create([check])
    await life.until(
        MachineHealthCheck, name, lambda value: value.status.expected_machines == expected
    )
