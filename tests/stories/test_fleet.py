"""The flows of a fleet, as stories: no sockets, no sleeping, a whole plane in this process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest_asyncio

from kapy.api.cluster import Cluster
from kapy.api.dev_cluster import DevCluster
from kapy.api.dev_machine import DevMachine
from kapy.api.kubeadm_config import KubeadmConfig
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_set import MachineSet
from kapy.kube import Document
from kapy.kube.names import CONFIG_MAPS, SECRETS
from kapy.testing.story import Story
from tests.stories.plane import running_plane, sample

CLUSTER, CONTROL_PLANE, WORKERS = "capybara", "capybara-control-plane", "capybara-md-0"


@pytest_asyncio.fixture
async def story() -> AsyncIterator[Story]:
    async with running_plane() as plane:
        yield plane


def available(obj: Cluster | MachineDeployment | KubeadmControlPlane) -> bool:
    return is_true(obj, "Available")


def is_true(obj: Cluster | MachineDeployment | KubeadmControlPlane | Machine, of: str) -> bool:
    return any(
        condition.type == of and condition.status == "True"
        for condition in obj.status.conditions or []
    )


async def started(story: Story) -> None:
    await story.create(sample())
    await story.until(Cluster, CLUSTER, available)
    await story.until(MachineDeployment, WORKERS, lambda md: md.status.available_replicas == 2)


def settled(replicas: int) -> Callable[[MachineDeployment], bool]:
    def holds(md: MachineDeployment) -> bool:
        status = md.status
        return (
            md.spec.replicas == replicas
            and status.observed_generation == md.metadata.generation
            and status.replicas == replicas
            and (status.available_replicas or 0) == replicas
            and (status.up_to_date_replicas or 0) == replicas
        )

    return holds


def has_ready(replicas: int) -> Callable[[KubeadmControlPlane], bool]:
    def holds(kcp: KubeadmControlPlane) -> bool:
        status = kcp.status
        return status.replicas == replicas == status.ready_replicas and available(kcp)

    return holds


async def workers(story: Story) -> list[Machine]:
    return [
        machine
        for machine in await story.all(Machine)
        if "cluster.x-k8s.io/control-plane" not in machine.metadata.labels
    ]


async def control_planes(story: Story) -> list[Machine]:
    return [
        machine
        for machine in await story.all(Machine)
        if "cluster.x-k8s.io/control-plane" in machine.metadata.labels
    ]


async def test_a_cluster_becomes_available(story: Story) -> None:
    await started(story)
    machines = await story.all(Machine)
    assert len(machines) == 3
    for machine in machines:
        assert machine.status.phase == "Running"
        assert machine.status.node_ref is not None
        assert machine.spec.provider_id


async def test_workers_scale_out_and_in(story: Story) -> None:
    await started(story)
    before = {machine.metadata.name for machine in await workers(story)}
    for replicas in (10, 1):
        await story.merge(MachineDeployment, WORKERS, {"spec": {"replicas": replicas}})
        await story.until(MachineDeployment, WORKERS, settled(replicas))
        await story.settle()
        assert len(await workers(story)) == replicas
        assert len(await story.all(KubeadmConfig)) == replicas + 1
        assert len(await story.all(DevMachine)) == replicas + 1
        if replicas == 10:
            assert before <= {machine.metadata.name for machine in await workers(story)}


async def test_the_control_plane_scales_out_and_in(story: Story) -> None:
    await started(story)
    for replicas in (3, 1):
        await story.merge(KubeadmControlPlane, CONTROL_PLANE, {"spec": {"replicas": replicas}})
        await story.until(KubeadmControlPlane, CONTROL_PLANE, has_ready(replicas))
        await story.settle()
        assert len(await control_planes(story)) == replicas
    assert available(await story.until(Cluster, CLUSTER, available))


async def test_a_changed_template_replaces_the_workers_within_the_budget(story: Story) -> None:
    await started(story)
    old = {machine.metadata.name for machine in await workers(story)}
    (template,) = [document for document in sample() if document["metadata"]["name"] == WORKERS][
        -1:
    ]
    await story.create([_renamed(template, "capybara-md-0-v2")])
    await story.merge(
        MachineDeployment,
        WORKERS,
        {"spec": {"template": {"spec": {"infrastructureRef": {"name": "capybara-md-0-v2"}}}}},
    )
    await story.until(MachineDeployment, WORKERS, settled(2))
    await story.settle()
    new = {machine.metadata.name for machine in await workers(story)}
    assert len(new) == 2
    assert not old & new
    sets = {ms.metadata.name: ms.spec.replicas for ms in await story.all(MachineSet)}
    assert list(sets.values()) == [2]


async def test_the_control_plane_upgrades_one_machine_at_a_time(story: Story) -> None:
    await started(story)
    await story.merge(KubeadmControlPlane, CONTROL_PLANE, {"spec": {"replicas": 3}})
    await story.until(
        KubeadmControlPlane, CONTROL_PLANE, lambda kcp: kcp.status.ready_replicas == 3
    )
    await story.merge(KubeadmControlPlane, CONTROL_PLANE, {"spec": {"version": "v1.35.0"}})
    most = 0

    def upgraded(kcp: KubeadmControlPlane) -> bool:
        nonlocal most
        most = max(most, kcp.status.replicas or 0)
        return (
            kcp.status.version == "v1.35.0"
            and kcp.status.up_to_date_replicas == 3
            and kcp.status.replicas == 3
            and available(kcp)
        )

    await story.until(KubeadmControlPlane, CONTROL_PLANE, upgraded)
    await story.settle()
    assert most <= 4
    assert {machine.spec.version for machine in await control_planes(story)} == {"v1.35.0"}


async def test_a_deletion_proceeds_in_order_and_leaves_nothing_behind(story: Story) -> None:
    await started(story)
    await story.client.delete(Cluster, (await _present(story)).key)
    await story.until_gone(Cluster, CLUSTER)
    await story.settle()
    for kind in (
        Machine,
        MachineSet,
        MachineDeployment,
        KubeadmConfig,
        KubeadmControlPlane,
        DevCluster,
        DevMachine,
    ):
        assert not await story.all(kind), kind.__name__
    secrets = (await story.client.list(SECRETS, "default")).items
    assert not secrets
    names = {
        document["metadata"]["name"] for document in (await story.client.list(CONFIG_MAPS)).items
    }
    assert not [name for name in names if name.startswith(CLUSTER)]


async def _present(story: Story) -> Cluster:
    cluster = await story.get(Cluster, CLUSTER)
    assert cluster is not None
    return cluster


def _renamed(document: Document, name: str) -> Document:
    metadata = {"name": name, "namespace": document["metadata"]["namespace"]}
    return {**document, "metadata": metadata}
