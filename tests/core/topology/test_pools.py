"""MachinePools of a topology."""

from __future__ import annotations

from typing import Any

from kapy.api.cluster import Cluster
from kapy.api.dev_machine_pool import DevMachinePool
from kapy.api.kubeadm_config import KubeadmConfig
from kapy.api.machine import Machine
from kapy.api.machine_pool import MachinePool
from kapy.kube import Document
from tests.core.topology.topology_story import CLUSTER, TopologyStory, cluster, empty_plane, objects

POOL = "capybara-mp-0"


def class_with_pools() -> list[Document]:
    results = [obj for obj in objects() if obj["kind"] != "Cluster"]
    (of_class,) = (document for document in results if document["kind"] == "ClusterClass")
    (group,) = of_class["spec"]["workers"]["machineDeployments"]
    template = {
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
        "kind": "DevMachinePoolTemplate",
        "metadata": {"name": "meadow-flock", "namespace": "default"},
        "spec": {"template": {"spec": {"backend": {"inMemory": {}}}}},
    }
    reference = {name: template[name] for name in ("apiVersion", "kind")}
    flock = {
        "class": "flock",
        "bootstrap": group["bootstrap"],
        "infrastructure": {"templateRef": {**reference, "name": "meadow-flock"}},
        "naming": {"template": "{{ .cluster.name }}-{{ .machinePool.topologyName }}"},
    }
    of_class["spec"]["workers"]["machinePools"] = [flock]
    return [template, *results]


def pools(size: int, **more: Any) -> Document:
    return {"machinePools": [{"class": "flock", "name": "mp-0", "replicas": size, **more}]}


async def sizes(story: TopologyStory) -> tuple[int, int]:
    """Return the number of the pools' Machines, and the sum of the replicas of all MachinePools."""
    machines = [machine for machine in await story.all(Machine) if "-mp-0" in machine.metadata.name]
    return len(machines), sum(
        machine_pool.spec.replicas or 0 for machine_pool in await story.all(MachinePool)
    )


async def test_a_pool_is_created_scaled_upgraded_and_deleted() -> None:
    async with empty_plane() as story:
        await story.create([*class_with_pools(), cluster(workers=pools(1))])
        await story.until_settled()
        (pool,) = await story.all(MachinePool)
        assert pool.metadata.name == POOL
        assert await sizes(story) == (1, 1)
        for kind, owners in (
            (DevMachinePool, ["Cluster", "MachinePool"]),
            (KubeadmConfig, ["Cluster", "MachinePool"]),
        ):
            (result,) = [item for item in await story.all(kind) if "-mp-0-" in item.metadata.name]
            assert sorted(ref.kind for ref in result.metadata.owner_references) == owners, kind
        defer = {"annotations": {"topology.cluster.x-k8s.io/defer-upgrade": ""}}
        await story.topology(workers=pools(2, metadata=defer))
        await story.until_settled()
        assert await sizes(story) == (2, 2)
        await story.topology(version="v1.35.0")
        message = await story.told("MachinePoolsUpgradeDeferred")
        assert f"MachinePool {POOL} upgrade to version v1.35.0 deferred" in message
        await story.topology(workers=pools(2))
        await story.until_settled()
        assert {machine.spec.version for machine in await story.all(Machine)} == {"v1.35.0"}
        await story.merge(Cluster, CLUSTER, {"spec": {"topology": {"workers": None}}})
        await story.until_settled()
        assert await sizes(story) == (0, 0)
        assert not await story.all(DevMachinePool)
