"""A provider of machine pools in a test's hands, and what a pool tells."""

from __future__ import annotations

from typing import Any

from kapy.api.machine_pool import MachinePool
from kapy.api.names import Label
from kapy.kube import Document, Key
from kapy.kube.names import NODES
from tests.core.environment import (
    CONFIGS,
    INFRA_MACHINES,
    INFRA_POOLS,
    VERSION,
    Environment,
    node_of,
    of,
    reference,
    running_cluster,
)

KEY = Key("default", "mp")


def pool(replicas: int = 1, *, template: Document | None = None, **spec: Any) -> Document:
    machine = {
        "clusterName": "c",
        "version": VERSION,
        "bootstrap": {"configRef": reference(CONFIGS, "mp")},
        "infrastructureRef": reference(INFRA_POOLS, "mp"),
    }
    template = template or {}
    machine |= template.pop("spec", {})
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "MachinePool",
        "metadata": {"name": "mp", "namespace": "default", **spec.pop("metadata", {})},
        "spec": {
            "clusterName": "c",
            "replicas": replicas,
            "template": {**template, "spec": machine},
            **spec,
        },
    }


class Cloud:
    """A pool's infrastructure provider, run by the test. machines: each machine has an object."""

    def __init__(self, plane: Environment, *, machines: bool, legacy: bool = False) -> None:
        self.plane = plane
        self.machines = machines
        self.legacy = legacy
        self.names: list[str] = []

    async def create(self, replicas: int, **parts: Any) -> None:
        kind = {"infrastructureMachineKind": "FakeMachine"} if self.machines else {}
        await self.plane.create(
            of(CONFIGS, "mp", spec={}), of(INFRA_POOLS, "mp", spec={}), pool(replicas, **parts)
        )
        await self.plane.report(INFRA_POOLS, "mp", **kind)
        await self.plane.report(
            CONFIGS, "mp", dataSecretName="boot", initialization={"dataSecretCreated": True}
        )

    async def have(self, *names: str, nodes: bool = True, version: str = VERSION) -> None:
        """Have exactly these machines; new ones become Nodes."""
        new = [name for name in names if name not in self.names]
        if self.machines:
            for name in new:
                await self.make_object(name)
        self.names = list(names)
        ids = [f"fake://{name}" for name in names]
        patch = {"spec": {"providerIDList": ids}}
        await self.plane.client.patch(INFRA_POOLS, KEY, patch)
        done = {"ready": True} if self.legacy else {"initialization": {"provisioned": True}}
        await self.plane.report(INFRA_POOLS, "mp", replicas=len(names), **done)
        for name in new if nodes else ():
            await self.boot(name, version)
        await self.plane.settle()

    async def make_object(self, name: str) -> None:
        infra = of(INFRA_MACHINES, name, spec={"providerID": f"fake://{name}"})
        infra["metadata"]["labels"] = {Label.POOL_NAME: "mp", Label.CLUSTER_NAME: "c"}
        await self.plane.create(infra)
        await self.plane.report(INFRA_MACHINES, name, initialization={"provisioned": True})

    async def boot(self, name: str, version: str = VERSION) -> None:
        node = node_of(name, version)
        await self.plane.workload.create(NODES, node)
        patch = {"status": node["status"]}
        await self.plane.workload.patch(NODES, Key("", name), patch, subresource="status")


async def cloud(
    plane: Environment, replicas: int, *, machines: bool = False, **parts: Any
) -> Cloud:
    await running_cluster(plane)
    result = Cloud(plane, machines=machines)
    await result.create(replicas, **parts)
    await plane.settle()
    return result


async def found(plane: Environment) -> MachinePool:
    machine_pool = await plane.story.get(MachinePool, "mp")
    assert machine_pool is not None
    return machine_pool


async def nodes(plane: Environment) -> list[Document]:
    return list((await plane.workload.list(NODES)).items)


def told(machine_pool: MachinePool) -> dict[str, tuple[str, str, str]]:
    return {
        condition.type: (condition.status, condition.reason, condition.message)
        for condition in machine_pool.status.conditions
    }


def legacy(machine_pool: MachinePool) -> dict[str, tuple[str, str]]:
    assert machine_pool.status.deprecated is not None
    assert machine_pool.status.deprecated.v1beta1 is not None
    conditions = machine_pool.status.deprecated.v1beta1.conditions
    return {
        beta1_condition.type: (beta1_condition.status, beta1_condition.reason)
        for beta1_condition in conditions
    }


def counted(machine_pool: MachinePool) -> tuple[int | None, ...]:
    status = machine_pool.status
    return (
        status.replicas,
        status.ready_replicas,
        status.available_replicas,
        status.up_to_date_replicas,
    )


def counted_before(machine_pool: MachinePool) -> tuple[int, int, int]:
    assert machine_pool.status.deprecated is not None
    legacy = machine_pool.status.deprecated.v1beta1
    assert legacy is not None
    return legacy.ready_replicas, legacy.available_replicas, legacy.unavailable_replicas
