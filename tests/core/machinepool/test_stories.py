"""Tests of a MachinePool's life. Its provider creates machines; core reports their state."""

from __future__ import annotations

import asyncio

import pytest

from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.api.machine_pool import MachinePool
from kapy.api.names import Annotation, Finalizer, Label
from kapy.kube import Document, Key
from kapy.kube.errors import NotFound, Unreachable
from kapy.kube.http import Request
from kapy.kube.names import CRDS, NODES, Resource
from tests.core.environment import (
    CONFIGS,
    INFRA_MACHINES,
    INFRA_POOLS,
    VERSION,
    Environment,
    crd_of,
    node_of,
    of,
    reference,
    running_cluster,
)
from tests.core.machinepool.cloud import (
    KEY,
    Cloud,
    cloud,
    counted,
    counted_before,
    found,
    legacy,
    nodes,
    pool,
    told,
)

UNINITIALIZED = "node.cluster.x-k8s.io/uninitialized"


async def test_a_pool_waits_for_its_providers_and_owns_their_objects(plane: Environment) -> None:
    await running_cluster(plane)
    await plane.create(pool(1))
    await plane.settle()
    machine_pool = await found(plane)
    assert machine_pool.status.phase == "Pending"
    assert told(machine_pool)["BootstrapConfigReady"][1:] == (
        "ObjectDoesNotExist",
        "FakeConfig does not exist",
    )
    assert legacy(machine_pool)["InfrastructureReady"] == ("False", "IncorrectExternalRef")
    await plane.create(of(CONFIGS, "mp", spec={}), of(INFRA_POOLS, "mp", spec={}))
    await plane.settle()
    machine_pool = await found(plane)
    assert machine_pool.status.phase == "Pending"
    assert legacy(machine_pool)["BootstrapReady"] == ("False", "WaitingForDataSecret")
    for resource in (CONFIGS, INFRA_POOLS):
        metadata = (await plane.provider(resource, "mp"))["metadata"]
        assert [item["kind"] for item in metadata["ownerReferences"]] == ["MachinePool"]
        assert metadata["ownerReferences"][0]["controller"] is True
        assert metadata["labels"][Label.CLUSTER_NAME] == "c"
    await plane.report(
        CONFIGS, "mp", dataSecretName="boot", initialization={"dataSecretCreated": True}
    )
    await plane.settle()
    machine_pool = await found(plane)
    assert machine_pool.status.phase == "Provisioning"
    assert machine_pool.spec.template.spec.bootstrap.data_secret_name == "boot"
    assert legacy(machine_pool)["InfrastructureReady"] == ("False", "WaitingForInfrastructure")
    assert legacy(machine_pool)["Ready"] == ("False", "WaitingForInfrastructure")
    await plane.report(CONFIGS, "mp", dataSecretName="boot-2")
    await plane.settle()
    assert (await found(plane)).spec.template.spec.bootstrap.data_secret_name == "boot-2"


async def test_a_pool_runs_when_its_machines_are_nodes(plane: Environment) -> None:
    result = await cloud(plane, 1)
    await result.have("a", nodes=False)
    machine_pool = await found(plane)
    assert machine_pool.status.phase == "ScalingUp"
    await result.boot("a")
    await plane.settle()
    machine_pool = await found(plane)
    assert machine_pool.status.phase == "Running"
    assert machine_pool.metadata.finalizers == [Finalizer.MACHINE_POOL]
    assert [owner_reference.kind for owner_reference in machine_pool.metadata.owner_references] == [
        "Cluster"
    ]
    assert machine_pool.metadata.labels[Label.CLUSTER_NAME] == "c"
    assert [ref.name for ref in machine_pool.status.node_refs] == ["a"]
    assert machine_pool.status.observed_generation == machine_pool.metadata.generation
    assert [(version.version, version.replicas) for version in machine_pool.status.versions] == [
        (VERSION, 1)
    ]
    assert counted(machine_pool) == (1, 1, 1, 1)
    assert counted_before(machine_pool) == (1, 1, 0)
    true = ("True", "")
    assert legacy(machine_pool) == dict.fromkeys(
        ("Ready", "BootstrapReady", "InfrastructureReady", "ReplicasReady"), true
    )
    assert told(machine_pool) == {
        "Paused": ("False", "NotPaused", ""),
        "BootstrapConfigReady": ("True", "Ready", ""),
        "InfrastructureReady": ("True", "Ready", ""),
    }
    assert not await plane.story.all(Machine)


@pytest.mark.parametrize("machines", [False, True], ids=["without Machines", "with Machines"])
async def test_a_pool_follows_its_provider_from_0_to_3_to_1_to_0(
    plane: Environment, *, machines: bool
) -> None:
    result = await cloud(plane, 0, machines=machines)
    for names in ((), ("a", "b", "c"), ("c",), ()):
        count = len(names)
        await plane.story.merge(MachinePool, "mp", {"spec": {"replicas": count}})
        for name in set(result.names) - set(names) if machines else ():
            await plane.client.delete(Machine, Key("default", name))
            await plane.settle()
        await result.have(*names)
        machine_pool = await found(plane)
        assert machine_pool.status.phase == "Running"
        assert counted(machine_pool) == ((count,) * 4)
        assert counted_before(machine_pool) == (count, count, 0)
        assert [ref.name for ref in machine_pool.status.node_refs] == list(names)
        assert {node["metadata"]["name"] for node in await nodes(plane)} == set(names)
        assert legacy(machine_pool)["ReplicasReady"] == ("True", "")
        expected = set(names) if machines else set()
        assert {machine.metadata.name for machine in await plane.story.all(Machine)} == expected
        cluster = await plane.story.get(Cluster, "c")
        assert cluster is not None
        assert cluster.status.workers is not None
        assert cluster.status.workers.replicas == count


async def test_each_machine_of_the_provider_gets_a_machine(plane: Environment) -> None:
    """With the template's metadata; one that lost its owner is adopted again."""
    template = {"metadata": {"labels": {"team": "red"}, "annotations": {"note": "hi"}}}
    result = await cloud(plane, 1, machines=True, template=template)
    await result.have("a", nodes=False)
    (machine,) = await plane.story.all(Machine)
    assert machine.spec.version == ""
    await result.boot("a", "v1.33.1")
    await plane.settle()
    (machine,) = await plane.story.all(Machine)
    assert machine.spec.version == "v1.33.1"
    assert machine.spec.bootstrap.data_secret_name == ""
    assert machine.spec.infrastructure_ref.name == machine.metadata.name == "a"
    assert machine.metadata.labels == {
        "team": "red",
        Label.POOL_NAME: "mp",
        Label.CLUSTER_NAME: "c",
    }
    assert machine.metadata.annotations == {"note": "hi"}
    (owner,) = machine.metadata.owner_references
    assert (owner.kind, owner.name, owner.controller) == ("MachinePool", "mp", True)
    conditions = {condition.type: condition.status for condition in machine.status.conditions}
    assert (conditions["Ready"], conditions["Available"], conditions["UpToDate"]) == ("True",) * 3
    machine_pool = await found(plane)
    assert [(version.version, version.replicas) for version in machine_pool.status.versions] == [
        ("v1.33.1", 1)
    ]
    patch = {"spec": {"template": {"metadata": {"labels": {"team": "blue"}}}}}
    await plane.story.merge(MachinePool, "mp", patch)
    await plane.settle()
    (machine,) = await plane.story.all(Machine)
    assert machine.metadata.labels["team"] == "blue"
    await plane.story.merge(Machine, "a", {"metadata": {"ownerReferences": None}})
    await plane.settle()
    (machine,) = await plane.story.all(Machine)
    assert [owner_reference.kind for owner_reference in machine.metadata.owner_references] == [
        "MachinePool"
    ]


async def test_a_deleted_machine_is_not_up_to_date_and_its_node_is_deleted(
    plane: Environment,
) -> None:
    result = await cloud(plane, 2, machines=True)
    control_plane = {"metadata": {"labels": {Label.CONTROL_PLANE: ""}}}
    await plane.create(of(CONFIGS, "cp", spec={}), of(INFRA_MACHINES, "cp", spec={}))
    await plane.create(machine_of_control_plane(control_plane["metadata"]["labels"]))
    await result.have("a", "b")
    patch = {"metadata": {"finalizers": ["cloud.example.com/busy"]}}
    await plane.client.patch(INFRA_MACHINES, Key("default", "a"), patch)
    await plane.client.delete(Machine, Key("default", "a"))
    await plane.settle()
    machine = await plane.story.get(Machine, "a")
    assert machine is not None
    (up_to_date,) = [
        condition for condition in machine.status.conditions if condition.type == "UpToDate"
    ]
    assert (up_to_date.status, up_to_date.message) == ("False", "Machine is being deleted")
    assert (await found(plane)).status.up_to_date_replicas == 1
    await plane.finish_deletions()
    await result.have("b")
    assert [node["metadata"]["name"] for node in await nodes(plane)] == ["b"]
    machine_pool = await found(plane)
    assert machine_pool.status.phase == "ScalingUp"
    assert counted(machine_pool) == (1, 1, 1, 1)


def machine_of_control_plane(labels: dict[str, str]) -> Document:
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Machine",
        "metadata": {"name": "cp", "namespace": "default", "labels": labels},
        "spec": {
            "clusterName": "c",
            "version": VERSION,
            "bootstrap": {"configRef": reference(CONFIGS, "cp")},
            "infrastructureRef": reference(INFRA_MACHINES, "cp"),
        },
    }


async def test_while_others_scale_a_pool_its_phase_does_not_guess_the_direction(
    plane: Environment,
) -> None:
    result = await cloud(plane, 3)
    for value, names, phase in (
        (None, ("a", "b"), "ScalingUp"),
        ("", ("a", "b"), "Scaling"),
        ("karpenter", ("a", "b", "c", "d"), "Scaling"),
        ("false", ("a", "b", "c", "d"), "ScalingDown"),
        ("karpenter", ("a", "b", "c"), "Running"),
    ):
        patch = {"metadata": {"annotations": {Annotation.REPLICAS_MANAGED_BY: value}}}
        await plane.story.merge(MachinePool, "mp", patch)
        await result.have(*names)
        machine_pool = await found(plane)
        assert machine_pool.status.phase == phase
        assert machine_pool.spec.replicas == 3


async def test_a_node_is_available_when_it_was_ready_for_long_enough(plane: Environment) -> None:
    result = await cloud(plane, 1, template={"spec": {"minReadySeconds": 60}})
    await result.have("a", nodes=False)
    node = node_of("a")
    now = plane.clock().strftime("%Y-%m-%dT%H:%M:%SZ")
    for condition in node["status"]["conditions"]:
        condition["lastTransitionTime"] = now
    await plane.workload.create(NODES, node)
    patch = {"status": node["status"]}
    await plane.workload.patch(NODES, Key("", "a"), patch, subresource="status")
    await plane.settle()
    assert counted_before(await found(plane)) == (1, 0, 1)
    await asyncio.sleep(60)
    assert counted_before(await found(plane)) == (1, 1, 0)


async def test_a_node_gets_annotations_and_loses_its_taint(plane: Environment) -> None:
    result = await cloud(plane, 1)
    await result.have("a")
    (node,) = await nodes(plane)
    marks = {
        name: annotation
        for name, annotation in node["metadata"]["annotations"].items()
        if "/" in name
    }
    assert marks == {
        Annotation.CLUSTER_NAME: "c",
        Annotation.CLUSTER_NAMESPACE: "default",
        Annotation.OWNER_KIND: "MachinePool",
        Annotation.OWNER_NAME: "mp",
    }
    assert UNINITIALIZED not in [taint["key"] for taint in node["spec"].get("taints", ())]
    (before,) = (await found(plane)).status.node_refs
    await plane.workload.delete(NODES, Key("", "a"))
    await plane.settle()
    machine_pool = await found(plane)
    assert machine_pool.status.node_refs == []
    assert legacy(machine_pool)["ReplicasReady"] == ("False", "WaitingForReplicasReady")
    await result.boot("a")
    await plane.settle()
    (after,) = (await found(plane)).status.node_refs
    assert (after.name, after.uid != before.uid) == ("a", True)


async def test_provisioned_is_never_taken_back(plane: Environment) -> None:
    result = await cloud(plane, 1)
    await result.have("a")
    await plane.report(INFRA_POOLS, "mp", initialization={"provisioned": False})
    await plane.settle()
    machine_pool = await found(plane)
    assert machine_pool.status.initialization.infrastructure_provisioned is True


async def test_a_paused_pool_only_reports_that_it_is_paused(plane: Environment) -> None:
    result = await cloud(plane, 1)
    await result.have("a")
    await plane.story.merge(Cluster, "c", {"spec": {"paused": True}})
    await plane.settle()
    await result.have("a", "b")
    machine_pool = await found(plane)
    assert told(machine_pool)["Paused"] == ("True", "Paused", "Cluster spec.paused is set to true")
    assert machine_pool.spec.provider_id_list == ["fake://a"]
    await plane.story.merge(Cluster, "c", {"spec": {"paused": False}})
    await plane.settle()
    machine_pool = await found(plane)
    assert told(machine_pool)["Paused"][0] == "False"
    assert len(machine_pool.status.node_refs) == 2


async def test_a_pool_is_deleted_after_its_references_and_with_its_nodes(
    plane: Environment,
) -> None:
    result = await cloud(plane, 2)
    await result.have("a", "b")
    hold = {"metadata": {"finalizers": ["cloud.example.com/busy"]}}
    await plane.client.patch(INFRA_POOLS, KEY, hold)
    await plane.client.delete(MachinePool, KEY)
    await plane.settle()
    machine_pool = await found(plane)
    assert machine_pool.status.phase == "Deleting"
    assert len(await nodes(plane)) == 2
    with pytest.raises(NotFound):
        await plane.provider(CONFIGS, "mp")
    await plane.finish_deletions()
    await plane.story.until_gone(MachinePool, "mp")
    assert await nodes(plane) == []


async def test_a_silent_workload_cluster_delays_a_deletion_up_to_a_timeout(
    plane: Environment,
) -> None:
    spec = {"deletion": {"nodeDeletionTimeoutSeconds": 30}}
    result = await cloud(plane, 1, template={"spec": spec})
    await result.have("a")
    plane.wire.silent = True
    await plane.client.delete(MachinePool, KEY)
    await plane.settle(20)
    assert await plane.story.get(MachinePool, "mp") is not None
    await plane.story.until_gone(MachinePool, "mp", within=60)


async def test_waiting_for_references_does_not_consume_the_node_timeout(plane: Environment) -> None:
    spec = {"deletion": {"nodeDeletionTimeoutSeconds": 30}}
    result = await cloud(plane, 1, template={"spec": spec})
    await result.have("a")
    hold = {"metadata": {"finalizers": ["cloud.example.com/busy"]}}
    await plane.client.patch(INFRA_POOLS, KEY, hold)
    await plane.client.delete(MachinePool, KEY)
    await plane.settle(60)
    attempts = 0

    def fail_twice(request: Request) -> Exception | None:
        nonlocal attempts
        if request.method != "DELETE" or "/nodes/" not in request.path:
            return None
        attempts += 1
        return Unreachable("not now") if attempts < 3 else None

    plane.wire.fault = fail_twice
    await plane.finish_deletions()
    await plane.story.until_gone(MachinePool, "mp", within=60)
    assert attempts == 3
    assert await nodes(plane) == []


async def test_terminal_failures_persist_and_lost_infrastructure_is_one(plane: Environment) -> None:
    result = await cloud(plane, 1)
    await result.have("a")
    await plane.report(INFRA_POOLS, "mp", failureReason="NoQuota", failureMessage="ask for more")
    await plane.settle()
    await plane.report(INFRA_POOLS, "mp", failureReason=None, failureMessage=None)
    await plane.settle()
    assert failure(await found(plane)) == (
        "NoQuota",
        "Failure detected from referenced resource infrastructure.cluster.x-k8s.io/v1beta2, "
        'Kind=FakeMachinePool with name "mp": ask for more',
    )
    await plane.client.delete(INFRA_POOLS, KEY)
    await plane.settle()
    machine_pool = await found(plane)
    removal = "FakeMachinePool has been deleted while the MachinePool still exists"
    assert told(machine_pool)["InfrastructureReady"] == ("False", "ObjectDeleted", removal)
    assert failure(machine_pool) == (
        "InvalidConfiguration",
        "MachinePool infrastructure resource FakeMachinePool default/mp "
        "has been deleted after being ready",
    )


def failure(machine_pool: MachinePool) -> tuple[str | None, str | None]:
    assert machine_pool.status.deprecated is not None
    assert machine_pool.status.deprecated.v1beta1 is not None
    return (
        machine_pool.status.deprecated.v1beta1.failure_reason,
        machine_pool.status.deprecated.v1beta1.failure_message,
    )


BROKEN: list[tuple[Document, str]] = [
    ({"spec": {"providerIDList": "a"}}, ".spec.providerIDList: expected a list, got string"),
    ({"spec": {"providerIDList": [1]}}, ".spec.providerIDList: expected provider IDs"),
    ({"status": {"replicas": "3"}}, ".status.replicas: expected an integer, got string"),
    ({"status": {"infrastructureMachineKind": 1}}, ".status.infrastructureMachineKind:"),
    (
        {"status": {"infrastructureMachineKind": "Nothing"}},
        "failed to get object from ref: failed to get CustomResourceDefinition metadata: "
        'customresourcedefinitions.apiextensions.k8s.io "nothings.infrastructure.cluster.x-k8s.io"',
    ),
    ({"status": {"failureReason": {}}}, ".status.failureReason: expected a string"),
    ({"status": {"initialization": "done"}}, ".status.initialization: expected an object"),
]


async def test_a_provider_that_breaks_the_contract_is_named_with_the_field(
    plane: Environment,
) -> None:
    await (await cloud(plane, 1)).have("a")
    right = await plane.provider(INFRA_POOLS, "mp")
    for parts, complaint in BROKEN:
        await plane.client.patch(INFRA_POOLS, KEY, {"spec": parts.get("spec", {})})
        await plane.report(INFRA_POOLS, "mp", **parts.get("status", {}))
        await plane.settle()
        status, reason, message = told(await found(plane))["InfrastructureReady"]
        assert (status, reason) == ("Unknown", "InternalError")
        who = "FakeMachinePool default/mp breaks the InfraMachinePool contract v1beta2: "
        assert message.startswith(who + complaint)
        await plane.client.patch(INFRA_POOLS, KEY, {"spec": right["spec"]})
        absent = dict.fromkeys(parts.get("status", {}))
        await plane.report(INFRA_POOLS, "mp", **{**absent, **right["status"]})
        await plane.settle()
        assert told(await found(plane))["InfrastructureReady"] == ("True", "Ready", "")


async def test_the_provider_s_ready_is_mirrored(plane: Environment) -> None:
    result = await cloud(plane, 1)
    await result.have("a")
    ready = {"type": "Ready", "status": "False", "reason": "Busy", "message": "wait"}
    ready["lastTransitionTime"] = "2026-01-01T00:00:00Z"
    await plane.report(INFRA_POOLS, "mp", conditions=[ready])
    await plane.settle()
    machine_pool = await found(plane)
    assert told(machine_pool)["InfrastructureReady"] == ("False", "Busy", "wait")
    assert legacy(machine_pool)["InfrastructureReady"] == ("False", "Busy")


OLD_POOLS = Resource(
    "infrastructure.cluster.x-k8s.io", "v1beta1", "oldmachinepools", "OldMachinePool"
)


async def test_a_provider_of_the_old_contract_works_too(plane: Environment) -> None:
    crd = crd_of(OLD_POOLS)
    crd["metadata"]["labels"] = {"cluster.x-k8s.io/v1beta1": "v1beta1"}
    await plane.client.create(CRDS, crd)
    await running_cluster(plane)
    spec = {"infrastructureRef": reference(OLD_POOLS, "mp"), "bootstrap": {"dataSecretName": "own"}}
    await plane.client.create(OLD_POOLS, of(OLD_POOLS, "mp", spec={"providerIDList": ["fake://a"]}))
    await plane.create(pool(1, template={"spec": spec}))
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    await plane.report(OLD_POOLS, "mp", ready=True, replicas=1, conditions=[ready])
    await Cloud(plane, machines=False).boot("a")
    await plane.settle()
    machine_pool = await found(plane)
    assert machine_pool.status.phase == "Running"
    assert legacy(machine_pool)["Ready"] == ("True", "")
    assert told(machine_pool)["BootstrapConfigReady"] == ("True", "DataSecretProvided", "")
    assert told(machine_pool)["InfrastructureReady"] == ("True", "Ready", "")


async def test_a_pool_survives_the_end_of_its_controllers_at_any_write(plane: Environment) -> None:
    result = await cloud(plane, 3, machines=True)
    for name in ("a", "b", "c"):
        await result.make_object(name)
        await result.boot(name)
    result.names = ["a", "b", "c"]
    for writes in (1, 1, 2, 3, 1, 5):
        await plane.kill_after(writes)
    await result.have("a", "b", "c")
    for writes in (1, 2, 1, 3):
        await plane.kill_after(writes)
    await plane.settle()
    machine_pool = await found(plane)
    assert machine_pool.status.phase == "Running"
    assert counted(machine_pool) == (3, 3, 3, 3)
    assert [machine.metadata.name for machine in await plane.story.all(Machine)] == ["a", "b", "c"]


async def test_reconciling_an_unchanged_pool_writes_nothing(plane: Environment) -> None:
    result = await cloud(plane, 2, machines=True)
    await result.have("a", "b")
    await plane.settle(60)
    before = len(plane.controllers.writes)
    patch = {"metadata": {"annotations": {"look": "again"}}}
    await plane.story.merge(MachinePool, "mp", patch)
    await plane.client.patch(INFRA_POOLS, KEY, patch)
    await plane.client.patch(INFRA_MACHINES, Key("default", "a"), patch)
    await plane.settle(60)
    assert plane.controllers.writes[before:] == []
