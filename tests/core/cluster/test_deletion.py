"""`kubectl delete` of Clusters: on bad days, while paused, with whatever belongs to them."""

from __future__ import annotations

import pytest

from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.api.machine_pool import MachinePool
from kapy.api.names import Annotation, Label
from kapy.kube import Document, Key
from kapy.kube.errors import Forbidden
from kapy.kube.http import Request
from kapy.kube.names import CRDS
from tests.core.cluster.test_stories import condition, found
from tests.core.environment import (
    CONFIG_TEMPLATES,
    CONTROL_PLANES,
    INFRA_CLUSTERS,
    INFRA_MACHINES,
    INFRA_TEMPLATES,
    VERSION,
    Environment,
    cluster,
    deployment,
    of,
    reference,
    running_cluster,
    templates,
)

KEY = Key("default", "c")
HOLD = {"metadata": {"finalizers": ["test.example.com/hold"]}}
RELEASE = {"metadata": {"finalizers": None}}


def machine(name: str, *, labels: Document | None = None) -> Document:
    """A stand-alone Machine, which has its boot data from elsewhere."""
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Machine",
        "metadata": {"name": name, "namespace": "default", "labels": labels or {}},
        "spec": {
            "clusterName": "c",
            "version": VERSION,
            "bootstrap": {"dataSecretName": "boot"},
            "infrastructureRef": reference(INFRA_MACHINES, name),
        },
    }


def pool(replicas: int, name: str = "mp") -> Document:
    """A MachinePool of a provider that nobody runs here."""
    template = {
        "clusterName": "c",
        "version": VERSION,
        "bootstrap": {"configRef": reference(CONFIG_TEMPLATES, name)},
        "infrastructureRef": reference(INFRA_TEMPLATES, name),
    }
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "MachinePool",
        "metadata": {
            "name": name,
            "namespace": "default",
            "labels": {Label.CLUSTER_NAME: "c"},
            "finalizers": ["test.example.com/hold"],
        },
        "spec": {"clusterName": "c", "replicas": replicas, "template": {"spec": template}},
    }


async def owned_by_the_cluster(
    plane: Environment, kind: type[MachinePool | Machine], name: str
) -> None:
    value = await found(plane)
    owner = {"kind": "Cluster", "name": "c", "uid": value.metadata.uid}
    owners = [{"apiVersion": "cluster.x-k8s.io/v1beta2", **owner}]
    await plane.client.patch(kind, Key("default", name), {"metadata": {"ownerReferences": owners}})


async def test_pools_count_as_workers_and_go_with_them(plane: Environment) -> None:
    await running_cluster(plane)
    await plane.client.create(MachinePool.RESOURCE, pool(3))
    await owned_by_the_cluster(plane, MachinePool, "mp")
    counted = {"replicas": 2, "readyReplicas": 1, "versions": [{"version": VERSION, "replicas": 2}]}
    key = Key("default", "mp")
    await plane.client.patch(MachinePool, key, {"status": counted}, subresource="status")
    await plane.settle()
    workers = (await found(plane)).status.workers
    assert workers is not None
    assert (workers.desired_replicas, workers.replicas, workers.ready_replicas) == (3, 2, 1)
    assert [version.version for version in workers.versions] == [VERSION]

    await plane.client.delete(Cluster, KEY)
    await plane.settle()
    result = condition(await found(plane), "Deleting")
    assert (result.reason, result.message) == ("WaitingForWorkersDeletion", "* MachinePools: mp")
    assert (await plane.client.get(MachinePool, key)).deleting
    assert "deletionTimestamp" not in (await plane.provider(CONTROL_PLANES, "c"))["metadata"]
    await plane.client.patch(MachinePool, key, RELEASE)
    await plane.story.until_gone(Cluster, "c")


async def test_machines_of_a_pool_are_not_summed_up_in_conditions(plane: Environment) -> None:
    await running_cluster(plane)
    await plane.create(machine("of-pool", labels={Label.POOL_NAME: "mp"}))
    await plane.settle(30)
    value = await found(plane)
    assert condition(value, "WorkerMachinesReady").reason == "NoReplicas"
    assert condition(value, "WorkerMachinesUpToDate").reason == "NoReplicas"


async def test_a_control_plane_of_machines_is_initialized_by_a_node_and_deleted_after_the_workers(
    plane: Environment,
) -> None:
    document = cluster(controlPlaneEndpoint={"host": "1.2.3.4", "port": 6443})
    del document["spec"]["controlPlaneRef"]
    await plane.create(of(INFRA_CLUSTERS, "c"), document)
    await plane.report(INFRA_CLUSTERS, "c", initialization={"provisioned": True})
    await plane.create(machine("cp", labels={Label.CONTROL_PLANE: ""}))
    await plane.settle()
    result = condition(await found(plane), "ControlPlaneInitialized")
    assert (result.status, result.reason) == ("False", "NotInitialized")
    node = {"status": {"nodeRef": {"name": "cp"}}}
    await plane.client.patch(Machine, Key("default", "cp"), node, subresource="status")
    await plane.settle()
    told_now = await found(plane)
    assert condition(told_now, "ControlPlaneInitialized").status == "True"
    assert told_now.status.control_plane is not None
    assert told_now.status.control_plane.desired_replicas == 1

    await plane.client.patch(Machine, Key("default", "cp"), HOLD)
    await plane.client.delete(Cluster, KEY)
    await plane.settle(60)
    result = condition(await found(plane), "Deleting")
    assert result.message == "* Control plane Machines: cp"
    await plane.client.patch(Machine, Key("default", "cp"), RELEASE)
    await plane.story.until_gone(Cluster, "c")


async def test_a_paused_cluster_stays_until_it_is_unpaused(plane: Environment) -> None:
    await running_cluster(plane)
    await plane.create(*templates(), deployment(1))
    await plane.settle()
    await plane.story.merge(Cluster, "c", {"spec": {"paused": True}})
    await plane.settle()
    await plane.client.delete(Cluster, KEY)
    await plane.settle(3600)
    value = await found(plane)
    result = condition(value, "Paused")
    assert (result.status, result.message) == ("True", "Cluster spec.paused is set to true")
    assert len(await plane.story.all(Machine)) == 1
    await plane.story.merge(Cluster, "c", {"spec": {"paused": False}})
    await plane.story.until_gone(Cluster, "c", within=5)
    assert not await plane.story.all(Machine)


async def test_pausing_stops_a_deletion_in_the_middle(plane: Environment) -> None:
    await running_cluster(plane)
    await plane.settle()
    await plane.client.patch(CONTROL_PLANES, KEY, HOLD)
    await plane.client.delete(Cluster, KEY)
    await plane.settle()
    pause = {"metadata": {"annotations": {Annotation.PAUSED: ""}}}
    await plane.story.merge(Cluster, "c", pause)
    await plane.settle()
    await plane.client.patch(CONTROL_PLANES, KEY, RELEASE)
    await plane.settle(3600)
    assert "deletionTimestamp" not in (await plane.provider(INFRA_CLUSTERS, "c"))["metadata"]
    result = condition(await found(plane), "Paused")
    assert result.message == f"Cluster has the {Annotation.PAUSED} annotation"
    await plane.story.merge(Cluster, "c", {"metadata": {"annotations": {Annotation.PAUSED: None}}})
    await plane.story.until_gone(Cluster, "c", within=5)


async def test_finalizers_of_others_hold_the_cluster_and_nothing_else(plane: Environment) -> None:
    await running_cluster(plane)
    await plane.settle()
    mine = (await found(plane)).metadata.finalizers
    await plane.story.merge(
        Cluster, "c", {"metadata": {"finalizers": [*mine, "backup.example.com/first"]}}
    )
    await plane.client.delete(Cluster, KEY)
    await plane.settle(60)
    value = await found(plane)
    assert value.metadata.finalizers == ["backup.example.com/first"]
    result = condition(value, "Deleting")
    assert (result.reason, result.message) == ("DeletionCompleted", "Deletion completed")
    assert not await plane.all(INFRA_CLUSTERS)
    await plane.story.merge(Cluster, "c", {"metadata": {"finalizers": []}})
    await plane.story.until_gone(Cluster, "c")


async def test_objects_that_were_never_created_are_not_waited_for(plane: Environment) -> None:
    await plane.create(cluster())
    await plane.settle()
    await plane.client.delete(Cluster, KEY)
    await plane.story.until_gone(Cluster, "c", within=5)


async def test_objects_of_an_uninstalled_provider_do_not_block_a_deletion(
    plane: Environment,
) -> None:
    await running_cluster(plane)
    await plane.settle()
    await plane.client.delete(CRDS, Key("", INFRA_CLUSTERS.group_resource))
    await plane.settle(60)
    result = condition(await found(plane), "InfrastructureReady")
    assert result.status == "Unknown"
    assert INFRA_CLUSTERS.group_resource in result.message
    await plane.client.delete(Cluster, KEY)
    await plane.story.until_gone(Cluster, "c")


@pytest.mark.parametrize("refused", ["machinesets", "fakeclusters", "fakecontrolplanes"])
async def test_a_refused_deletion_is_reported_and_the_others_continue(
    plane: Environment, refused: str
) -> None:
    await running_cluster(plane)
    alone: Document = {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "MachineSet",
        "metadata": {"name": "alone", "namespace": "default"},
        "spec": deployment(0)["spec"] | {"selector": {"matchLabels": {"a": "b"}}},
    }
    alone["spec"]["template"]["metadata"] = {"labels": {"a": "b"}}
    await plane.create(*templates(), alone, machine("alone"))
    await plane.settle()

    def fault(request: Request) -> Exception | None:
        if request.method == "DELETE" and f"/{refused}/" in request.path:
            return Forbidden('admission webhook "guard.example.com" denied the request: not today')
        return None

    plane.controllers.fault = fault
    await plane.client.delete(Cluster, KEY)
    await plane.settle(30)
    result = condition(await found(plane), "Deleting")
    assert "not today" in result.message
    assert not await plane.story.all(Machine)
    plane.controllers.fault = lambda _: None
    await plane.story.until_gone(Cluster, "c")
