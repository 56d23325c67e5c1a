"""Tests of a Machine's life: provisioning, its Node, failures and pausing."""

from __future__ import annotations

from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.names import Annotation, Finalizer, Label
from kapy.kube import Key
from kapy.kube.names import NODES
from tests.core.environment import (
    CONFIGS,
    INFRA_MACHINES,
    VERSION,
    Environment,
    deployment,
    node_of,
    of,
    running_cluster,
    templates,
)
from tests.core.machine.running_machine import (
    condition,
    events,
    found,
    machine,
    running,
)


async def test_a_machine_mirrors_the_reports_of_its_providers(plane: Environment) -> None:
    value = await running(plane)

    assert value.status.phase == "Running"
    assert value.spec.provider_id == "fake://m"
    assert value.spec.bootstrap.data_secret_name == "m"
    assert value.status.node_ref is not None
    assert value.status.node_info is not None
    assert value.status.node_info.kubelet_version == VERSION
    assert value.metadata.finalizers == [Finalizer.MACHINE]
    assert [owner.kind for owner in value.metadata.owner_references] == ["Cluster"]
    assert condition(value, "Available").status == "True"
    assert value.status.observed_generation == value.metadata.generation
    assert "SuccessfulSetNodeRef" in await events(plane)
    for resource in (CONFIGS, INFRA_MACHINES):
        metadata = (await plane.provider(resource, "m"))["metadata"]
        assert metadata["labels"] == {Label.CLUSTER_NAME: "c"}
        assert [owner["kind"] for owner in metadata["ownerReferences"]] == ["Machine"]
        assert not {"annotations", "finalizers"} & set(metadata)


async def test_addresses_and_failure_domain_come_from_the_infrastructure(
    plane: Environment,
) -> None:
    await running(plane)
    here = [{"type": "InternalIP", "address": "10.0.0.1"}]
    await plane.report(INFRA_MACHINES, "m", addresses=here, failureDomain="meadow")
    await plane.settle()
    value = await found(plane)
    assert [(at.type, at.address) for at in value.status.addresses] == [("InternalIP", "10.0.0.1")]
    assert value.status.failure_domain == "meadow"


async def test_boot_data_is_read_when_it_is_reported_ready(plane: Environment) -> None:
    """Neither before, nor is it given back."""
    await running_cluster(plane)
    await plane.create(of(CONFIGS, "m", spec={}), of(INFRA_MACHINES, "m", spec={}), machine())
    await plane.settle()
    await plane.report(CONFIGS, "m", dataSecretName="m")
    await plane.settle()
    value = await found(plane)
    assert value.spec.bootstrap.data_secret_name is None
    assert not value.status.initialization.bootstrap_data_secret_created

    await plane.report(CONFIGS, "m", initialization={"dataSecretCreated": True})
    await plane.settle()
    value = await found(plane)
    assert value.spec.bootstrap.data_secret_name == "m"
    assert value.status.initialization.bootstrap_data_secret_created


async def test_reached_initialization_is_not_reverted(plane: Environment) -> None:
    await running(plane)
    await plane.report(CONFIGS, "m", initialization={"dataSecretCreated": False})
    await plane.report(INFRA_MACHINES, "m", initialization={"provisioned": False})
    await plane.settle()
    done = (await found(plane)).status.initialization
    assert done.infrastructure_provisioned
    assert done.bootstrap_data_secret_created


async def test_a_node_is_initialized_and_names_its_machine(plane: Environment) -> None:
    await running(plane, labels={"node-role.kubernetes.io/worker": "", "other": "x"})

    node = await plane.workload.get(NODES, Key("", "m"))
    assert not node["spec"].get("taints")
    assert node["metadata"]["labels"]["node-role.kubernetes.io/worker"] == ""
    assert "other" not in node["metadata"]["labels"]
    annotations = node["metadata"]["annotations"]
    assert annotations[Annotation.MACHINE] == "m"
    assert annotations[Annotation.LABELS_FROM_MACHINE] == "node-role.kubernetes.io/worker"

    patch = {"metadata": {"labels": {"node-role.kubernetes.io/worker": None}}}
    await plane.story.merge(Machine, "m", patch)
    await plane.settle()
    node = await plane.workload.get(NODES, Key("", "m"))
    assert "node-role.kubernetes.io/worker" not in (node["metadata"].get("labels") or {})


async def test_an_unhealthy_or_deleted_node_is_reported(plane: Environment) -> None:
    await running(plane)
    sick = node_of("m")["status"]["conditions"]
    sick[0] = {"type": "Ready", "status": "False", "message": "no network"}
    key = Key("", "m")
    await plane.workload.patch(NODES, key, {"status": {"conditions": sick}}, subresource="status")
    await plane.settle()
    value = await found(plane)
    assert condition(value, "NodeHealthy").message == "* Node.Ready: no network"
    assert condition(value, "Ready").reason == "NotReady"
    assert condition(value, "Available").status == "False"

    await plane.workload.delete(NODES, key)
    await plane.settle()
    value = await found(plane)
    result = condition(value, "NodeReady")
    assert (result.status, result.reason) == ("False", "NodeDeleted")
    assert result.message == "Node m has been deleted while the Machine still exists"


async def test_infrastructure_that_vanishes_is_reported(plane: Environment) -> None:
    await running(plane)
    await plane.client.delete(INFRA_MACHINES, Key("default", "m"))
    await plane.settle()
    result = condition(await found(plane), "InfrastructureReady")
    assert result.reason == "ObjectDeleted"
    assert result.message == "FakeMachine has been deleted while the Machine still exists"


async def test_nothing_happens_to_a_paused_cluster(plane: Environment) -> None:
    await running_cluster(plane)
    await plane.create(*templates(), deployment(1))
    await plane.settle()
    await plane.story.merge(Cluster, "c", {"spec": {"paused": True}})
    await plane.settle()
    await plane.story.merge(MachineDeployment, "md", {"spec": {"replicas": 4}})
    await plane.boot_all()
    await plane.settle(30)

    (value,) = await plane.story.all(Machine)
    assert not value.spec.provider_id
    for paused in (value, await plane.story.get(Cluster, "c")):
        assert isinstance(paused, Machine | Cluster)
        result = condition(paused, "Paused")
        assert (result.status, result.reason) == ("True", "Paused")
        assert result.message == "Cluster spec.paused is set to true"

    await plane.story.merge(Cluster, "c", {"spec": {"paused": False}})
    await plane.settle()
    machines = await plane.story.all(Machine)
    assert len(machines) == 4
    assert all(condition(item, "Paused").status == "False" for item in machines)
    assert [item.status.phase for item in machines].count("Running") == 1


async def test_a_paused_machine_says_why(plane: Environment) -> None:
    await running(plane)
    await plane.story.merge(Machine, "m", {"metadata": {"annotations": {Annotation.PAUSED: ""}}})
    await plane.settle()
    result = condition(await found(plane), "Paused")
    assert result.message == "Machine has the cluster.x-k8s.io/paused annotation"


async def test_min_ready_seconds_delay_availability(plane: Environment) -> None:
    await running_cluster(plane)
    spec = {**machine()["spec"], "minReadySeconds": 100}
    await plane.create(of(CONFIGS, "m", spec={}), of(INFRA_MACHINES, "m", spec={}))
    await plane.create({**machine(), "spec": spec})
    await plane.settle()
    await plane.boot("m")
    await plane.settle(50)
    result = condition(await found(plane), "Available")
    assert (result.status, result.reason) == ("False", "WaitingForMinReadySeconds")
    await plane.settle(60)
    assert condition(await found(plane), "Available").status == "True"


async def test_the_last_report_of_a_silent_cluster_holds_for_five_minutes(
    plane: Environment,
) -> None:
    plane.wire.over_network = True
    await running(plane)
    plane.wire.silent = True
    await plane.settle(120)
    owner = await plane.story.get(Cluster, "c")
    assert owner is not None
    assert condition(owner, "RemoteConnectionProbe").reason == "ProbeFailed"
    assert condition(await found(plane), "NodeReady").status == "True"

    await plane.settle(300)
    result = condition(await found(plane), "NodeReady")
    assert (result.status, result.reason) == ("Unknown", "ConnectionDown")
    assert result.message.startswith("Last successful probe at 2026-01-01T00:0")

    plane.wire.silent = False
    await plane.settle(60)
    assert condition(await found(plane), "Available").status == "True"


async def test_objects_created_paused_get_their_finalizers(plane: Environment) -> None:
    await running_cluster(plane, paused=True)
    await plane.create(*templates(), deployment(1), machine())
    await plane.settle()
    deployed = await plane.story.get(MachineDeployment, "md")
    assert deployed is not None
    assert deployed.metadata.finalizers == [Finalizer.MACHINE_DEPLOYMENT]
    assert (await found(plane)).metadata.finalizers == [Finalizer.MACHINE]
    owner = await plane.story.get(Cluster, "c")
    assert owner is not None
    assert owner.metadata.finalizers == [Finalizer.CLUSTER]
    assert [item.type for item in owner.status.conditions] == ["Paused"]
