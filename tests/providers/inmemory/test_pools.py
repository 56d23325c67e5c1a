"""Machine pools in memory, as stories on a whole plane."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.api.cluster import Cluster
from kapy.api.dev_machine import DevMachine
from kapy.api.dev_machine_pool import DevMachinePool
from kapy.api.machine import Machine
from kapy.api.machine_pool import MachinePool
from kapy.api.names import Annotation, Label
from kapy.kube import Document, Key
from kapy.kube.errors import NotFound
from kapy.kube.names import NODES
from kapy.providers.inmemory.backend import FAILURE_DOMAIN, VERSION
from kapy.testing.story import Story
from tests.providers.inmemory.plane import dev_machine, in_memory_plane, settled
from tests.stories.plane import running_plane, sample

INFRASTRUCTURE = "infrastructure.cluster.x-k8s.io"
BOOTSTRAP = "bootstrap.cluster.x-k8s.io"
OLD, NEW = "v1.34.0", "v1.34.1"


def pool(replicas: int, backend: Document | None = None, **spec: Any) -> list[Document]:
    """A MachinePool of the sample cluster, with all that it refers to."""
    metadata = {"name": "mp", "namespace": "default"}
    template = {
        "clusterName": "capybara",
        "version": OLD,
        "bootstrap": {"configRef": {"apiGroup": BOOTSTRAP, "kind": "KubeadmConfig", "name": "mp"}},
        "infrastructureRef": {"apiGroup": INFRASTRUCTURE, "kind": "DevMachinePool", "name": "mp"},
    }
    return [
        {
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "MachinePool",
            "metadata": metadata,
            "spec": {
                "clusterName": "capybara",
                "replicas": replicas,
                "template": {"spec": template},
                **spec,
            },
        },
        {
            "apiVersion": f"{INFRASTRUCTURE}/v1beta2",
            "kind": "DevMachinePool",
            "metadata": metadata,
            "spec": {"backend": {"inMemory": backend or {}}},
        },
        {
            "apiVersion": f"{BOOTSTRAP}/v1beta2",
            "kind": "KubeadmConfig",
            "metadata": metadata,
            "spec": {"joinConfiguration": {"nodeRegistration": {"name": "any"}}},
        },
    ]


async def begin(story: Story, replicas: int, **parts: Any) -> None:
    """A cluster without other workers, and the pool."""
    documents = [
        document for document in sample() if not document["metadata"]["name"].endswith("md-0")
    ]
    await story.create([*documents, *pool(replicas, **parts)])


def runs(replicas: int, version: str = OLD) -> Any:
    """Whether the pool has come to rest with so many machines of a version."""

    def holds(machine_pool: MachinePool) -> bool:
        status = machine_pool.status
        counters = (status.replicas, status.ready_replicas, status.available_replicas)
        versions = [(version, replicas)] if replicas else []
        return (
            status.phase == "Running"
            and counters == ((replicas,) * 3)
            and [
                (status_version.version, status_version.replicas)
                for status_version in status.versions
            ]
            == versions
            and len(status.node_refs) == replicas
        )

    return holds


async def machines(story: Story) -> list[Machine]:
    results = await story.all(Machine)
    return [machine for machine in results if Label.POOL_NAME in machine.metadata.labels]


async def scaled(story: Story, replicas: int) -> MachinePool:
    scale: Document = {"spec": {"replicas": replicas}}
    await story.client.patch(MachinePool.RESOURCE, Key("default", "mp"), scale, subresource="scale")
    machine_pool = await story.until(MachinePool, "mp", runs(replicas))
    await story.settle(5)
    assert len(await machines(story)) == len(await story.all(DevMachine)) - 1 == replicas
    return machine_pool


async def test_a_pool_scales_from_0_to_3_to_1_to_0_and_is_deleted() -> None:
    async with running_plane() as story:
        await begin(story, 0)
        for replicas in (0, 3, 1, 0):
            machine_pool = await scaled(story, replicas)
            infra = await story.get(DevMachinePool, "mp")
            assert infra is not None
            assert infra.spec.provider_id_list == machine_pool.spec.provider_id_list
            assert infra.status.replicas == len(infra.status.instances) == replicas
            assert infra.status.infrastructure_machine_kind == "DevMachine"
            conditions = {condition.type: condition.status for condition in infra.status.conditions}
            assert conditions == {"Ready": "True", "ReplicasReady": "True", "Paused": "False"}
        await scaled(story, 2)
        await story.client.delete(MachinePool, Key("default", "mp"))
        await story.until_gone(MachinePool, "mp")
        await story.settle(5)
        assert await story.get(DevMachinePool, "mp") is None
        assert await machines(story) == []
        assert len(await story.all(DevMachine)) == 1


async def test_an_upgrade_replaces_the_machines_and_never_has_fewer_ready() -> None:
    async with running_plane() as story:
        await begin(story, 2, backend={"vm": {"provisioning": {"startupDuration": "10s"}}})
        await story.until(MachinePool, "mp", runs(2))
        before = {machine.metadata.name for machine in await machines(story)}
        patch = {"spec": {"template": {"spec": {"version": NEW}}}}
        await story.merge(MachinePool, "mp", patch)
        fewest = 2
        while not runs(2, NEW)(machine_pool := await found(story)):
            fewest = min(fewest, machine_pool.status.ready_replicas or 0)
            await story.settle(0.5)
        assert fewest == 2
        assert not before & {machine.metadata.name for machine in await machines(story)}
        assert {machine.spec.version for machine in await machines(story)} == {NEW}


async def found(story: Story) -> MachinePool:
    machine_pool = await story.get(MachinePool, "mp")
    assert machine_pool is not None
    return machine_pool


async def test_a_machine_that_is_deleted_is_replaced() -> None:
    async with running_plane() as story:
        await begin(story, 2)
        await story.until(MachinePool, "mp", runs(2))
        name_left, removal = sorted(machine.metadata.name for machine in await machines(story))
        await story.client.delete(Machine, Key("default", removal))
        await story.until_gone(Machine, removal)
        await story.until(MachinePool, "mp", runs(2))
        names = {machine.metadata.name for machine in await machines(story)}
        assert name_left in names
        assert removal not in names


async def test_the_machine_chosen_by_an_autoscaler_is_deleted_first() -> None:
    async with running_plane() as story:
        await begin(story, 3)
        await story.until(MachinePool, "mp", runs(3))
        *others, chosen = sorted(machine.metadata.name for machine in await machines(story))
        patch = {"metadata": {"annotations": {Annotation.DELETE_MACHINE: "yes"}}}
        await story.merge(Machine, chosen, patch)
        await scaled(story, 2)
        assert sorted(machine.metadata.name for machine in await machines(story)) == others


async def test_machines_are_spread_over_the_failure_domains() -> None:
    async with running_plane() as story:
        await begin(story, 4, failureDomains=["a", "b"])
        await story.until(MachinePool, "mp", runs(4))
        domains = sorted(machine.status.failure_domain for machine in await machines(story))
        assert domains == ["a", "a", "b", "b"]


async def test_pools_are_deleted_with_their_cluster() -> None:
    async with running_plane() as story:
        await begin(story, 2)
        cluster = await story.until(MachinePool, "mp", runs(2))
        await story.settle(5)
        result = await story.get(Cluster, "capybara")
        assert result is not None
        assert result.status.workers is not None
        assert result.status.workers.replicas == result.status.workers.available_replicas == 2
        await story.client.delete(Cluster, Key("default", "capybara"))
        await story.until_gone(Cluster, "capybara")
        with pytest.raises(NotFound):
            await story.client.get(DevMachinePool, cluster.key)
        assert await story.all(Machine) == []


async def test_a_pool_machine_keeps_version_and_failure_domain_over_a_restart() -> None:
    async with in_memory_plane() as plane:
        await plane.running("blue")
        infra = dev_machine()
        infra["metadata"]["annotations"] = {VERSION: NEW, FAILURE_DOMAIN: "b"}
        await plane.machine("blue", "mp-1", infra)
        await plane.ready("mp-1")
        await plane.restart()
        await plane.ready("mp-1")
        await settled()
        node = await (await plane.workload("blue")).get(NODES, Key("", "mp-1"))
        assert node["status"]["nodeInfo"]["kubeletVersion"] == NEW
        document = await plane.bench.get(DevMachine.RESOURCE, "mp-1")
        assert document is not None
        assert document["status"]["failureDomain"] == "b"
