"""Tests of a Cluster's life: provisioning, aggregated status, and the order of deletion."""

from __future__ import annotations

from kapy.api.cluster import Cluster
from kapy.api.condition import Condition
from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_set import MachineSet
from kapy.api.names import Finalizer, Label
from kapy.kube import Key
from kapy.kube.names import EVENTS, SECRETS
from kapy.kube.pki import new_ca
from kapy.remote.secrets import CLUSTER_CA, certificate_secret
from tests.core.environment import (
    CONTROL_PLANES,
    INFRA_CLUSTERS,
    PROVIDED,
    Environment,
    cluster,
    deployment,
    of,
    reference,
    running_cluster,
    templates,
)

KEY = Key("default", "c")


async def found(plane: Environment) -> Cluster:
    value = await plane.story.get(Cluster, "c")
    assert value is not None
    return value


def condition(obj: Cluster, of_type: str) -> Condition:
    (value,) = [item for item in obj.status.conditions if item.type == of_type]
    return value


async def test_references_that_come_late_are_waited_for(plane: Environment) -> None:
    await plane.create(cluster())
    await plane.settle()
    value = await found(plane)
    assert value.status.phase == "Provisioning"
    assert value.metadata.finalizers == [Finalizer.CLUSTER]
    result = condition(value, "InfrastructureReady")
    assert (result.reason, result.message) == ("ObjectDoesNotExist", "FakeCluster does not exist")
    assert condition(value, "ControlPlaneInitialized").reason == "ObjectDoesNotExist"

    endpoint = {"host": "1.2.3.4", "port": 6443}
    await plane.create(of(INFRA_CLUSTERS, "c", spec={"controlPlaneEndpoint": endpoint}))
    await plane.settle(1)
    assert not (await found(plane)).spec.control_plane_endpoint.host  # not before it is provisioned
    domains = [{"name": "b", "controlPlane": True}, {"name": "a"}]
    provisioned = {"provisioned": True}
    await plane.report(INFRA_CLUSTERS, "c", initialization=provisioned, failureDomains=domains)
    await plane.settle(1)
    value = await found(plane)
    assert value.status.phase == "Provisioned"
    assert value.spec.control_plane_endpoint.host == "1.2.3.4"
    assert [domain.name for domain in value.status.failure_domains] == ["a", "b"]
    metadata = (await plane.provider(INFRA_CLUSTERS, "c"))["metadata"]
    assert metadata["labels"] == {Label.CLUSTER_NAME: "c"}
    assert [owner["kind"] for owner in metadata["ownerReferences"]] == ["Cluster"]
    assert "controller" not in metadata["ownerReferences"][0]


async def test_the_cluster_owns_its_control_plane(plane: Environment) -> None:
    await running_cluster(plane)
    await plane.settle()
    metadata = (await plane.provider(CONTROL_PLANES, "c"))["metadata"]
    assert metadata["labels"] == {Label.CLUSTER_NAME: "c"}
    assert [owner["kind"] for owner in metadata["ownerReferences"]] == ["Cluster"]
    assert not {"annotations", "finalizers"} & set(metadata)


async def test_reached_initialization_is_not_reverted(plane: Environment) -> None:
    await running_cluster(plane)
    await plane.settle()
    await plane.report(INFRA_CLUSTERS, "c", initialization={"provisioned": False})
    await plane.report(CONTROL_PLANES, "c", initialization={"controlPlaneInitialized": False})
    await plane.settle()
    value = await found(plane)
    assert value.status.initialization.infrastructure_provisioned
    assert value.status.initialization.control_plane_initialized
    assert condition(value, "ControlPlaneInitialized").status == "True"


async def test_an_available_cluster_has_counters_and_a_summary(plane: Environment) -> None:
    await running_cluster(plane)
    await plane.create(*templates(), deployment(2))
    await plane.settle()
    value = await found(plane)
    assert condition(value, "Available").message == (
        "* WorkersAvailable:\n  * MachineDeployment md: 0 available replicas, at least 2 required "
        "(spec.strategy.rollout.maxUnavailable is 0, spec.replicas is 2)"
    )
    await plane.boot_all()
    await plane.settle()
    value = await found(plane)
    assert condition(value, "Available").status == "True"
    assert value.status.workers is not None
    assert value.status.workers.available_replicas == 2
    assert [(two.version, two.replicas) for two in value.status.workers.versions] == [
        ("v1.34.0", 2)
    ]
    assert value.status.control_plane is not None
    assert value.status.control_plane.desired_replicas == 1
    listed = (await plane.client.list(EVENTS, "default")).items
    reasons = {event["reason"] for event in listed if event["involvedObject"]["kind"] == "Cluster"}
    assert reasons == {
        "Provisioned",
        "InfrastructureReady",
        "ControlPlaneInitialized",
    }


async def test_a_deletion_proceeds_from_workers_to_the_infrastructure(plane: Environment) -> None:
    await running_cluster(plane)
    await plane.create(*templates(), deployment(1))
    await plane.settle()
    await plane.boot_all()
    await plane.settle()
    (machine,) = await plane.story.all(Machine)
    hold = {"metadata": {"finalizers": ["test.example.com/hold"]}}
    held = [(CONTROL_PLANES, "c"), (INFRA_CLUSTERS, "c")]
    held += [(item, machine.metadata.name) for item in PROVIDED if item.kind == "FakeMachine"]
    for resource, name in held:
        await plane.client.patch(resource, Key("default", name), hold)

    await plane.client.delete(Cluster, KEY)
    await plane.settle()
    result = condition(await found(plane), "Deleting")
    (machine_set,) = await plane.story.all(MachineSet)
    assert result.reason == "WaitingForWorkersDeletion"
    assert result.message == (
        "* MachineDeployments: md\n"
        f"* MachineSets: {machine_set.metadata.name}\n"
        f"* Worker Machines: {machine.metadata.name}"
    )
    assert "deletionTimestamp" not in (await plane.provider(CONTROL_PLANES, "c"))["metadata"]

    await plane.finish_deletions()
    await plane.settle()
    result = condition(await found(plane), "Deleting")
    assert result.reason == "WaitingForControlPlaneDeletion"
    assert result.message == "Waiting for FakeControlPlane to be deleted"
    assert "deletionTimestamp" not in (await plane.provider(INFRA_CLUSTERS, "c"))["metadata"]
    assert not await plane.story.all(MachineDeployment)

    await plane.finish_deletions()
    await plane.settle()
    result = condition(await found(plane), "Deleting")
    assert result.reason == "WaitingForInfrastructureDeletion"
    assert condition(await found(plane), "ControlPlaneAvailable").reason == "ObjectDeleted"

    await plane.finish_deletions()
    await plane.story.until_gone(Cluster, "c")
    await plane.settle(30)
    for resource in PROVIDED:
        assert not await plane.all(resource)


async def test_deleting_a_cluster_does_not_drain(plane: Environment) -> None:
    await running_cluster(plane)
    await plane.create(*templates(), deployment(2))
    await plane.settle()
    await plane.boot_all()
    await plane.settle()
    await plane.client.delete(Cluster, KEY)
    await plane.story.until_gone(Cluster, "c", within=5)
    listed = (await plane.client.list(EVENTS, "default")).items
    assert "SuccessfulDrainNode" not in {event["reason"] for event in listed}


async def test_an_infrastructure_that_vanishes_is_an_error(plane: Environment) -> None:
    await running_cluster(plane)
    await plane.settle()
    await plane.client.delete(INFRA_CLUSTERS, KEY)
    await plane.settle()
    result = condition(await found(plane), "InfrastructureReady")
    assert result.reason == "ObjectDeleted"
    assert result.message == "FakeCluster has been deleted while the cluster still exists"


async def test_a_ca_without_our_label_signs_a_kubeconfig_too(plane: Environment) -> None:
    authority = new_ca("kubernetes", now=plane.clock(), algorithm="ECDSA-P256")
    secret = certificate_secret(KEY, CLUSTER_CA, authority, None)
    del secret["metadata"]["labels"]
    await plane.client.create(SECRETS, secret)
    endpoint = {"host": "1.2.3.4", "port": 6443}
    document = cluster(controlPlaneEndpoint=endpoint)
    del document["spec"]["controlPlaneRef"]
    await plane.create(document)
    await plane.settle()
    assert await plane.client.get(SECRETS, Key("default", "c-kubeconfig"))


async def test_a_cluster_without_a_control_plane_provider_gets_its_kubeconfig(
    plane: Environment,
) -> None:
    endpoint = {"host": "1.2.3.4", "port": 6443}
    document = cluster(controlPlaneEndpoint=endpoint)
    document["spec"] = {
        "controlPlaneEndpoint": endpoint,
        "infrastructureRef": reference(INFRA_CLUSTERS, "c"),
    }
    await plane.create(document)
    await plane.settle()
    assert not (await plane.client.list(SECRETS, "default")).items
    authority = new_ca("kubernetes", now=plane.clock(), algorithm="ECDSA-P256")
    broken = certificate_secret(KEY, CLUSTER_CA, authority, None)
    good, broken["data"] = broken["data"], {"tls.crt": "bm90IFBFTQ==", "tls.key": "bm90IFBFTQ=="}
    await plane.client.create(SECRETS, broken)
    await plane.settle(3600)
    (only,) = (await plane.client.list(SECRETS, "default")).items
    await plane.client.patch(SECRETS, Key.of(only), {"data": good})
    await plane.settle(1)
    secret = await plane.client.get(SECRETS, Key("default", "c-kubeconfig"))
    assert [owner["kind"] for owner in secret["metadata"]["ownerReferences"]] == ["Cluster"]
    assert set(secret["data"]) == {"value"}
