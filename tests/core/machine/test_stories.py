"""What becomes of a Machine: boot, life with its Node, and the steps of its end."""

from __future__ import annotations

from typing import Any

from kapy.api.cluster import Cluster
from kapy.api.condition import Condition
from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.names import Annotation, Finalizer, Label
from kapy.kube import Document, Key
from kapy.kube.names import DAEMON_SETS, EVENTS, NODES, PODS, Resource
from tests.core.stage import (
    CONFIGS,
    INFRA_MACHINES,
    VERSION,
    Stage,
    default_namespace,
    deployment,
    node_of,
    of,
    reference,
    running_cluster,
    templates,
)

BUDGETS = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")


def machine(name: str = "m", **metadata: Any) -> Document:
    """A Machine that stands alone."""
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Machine",
        "metadata": {"name": name, "namespace": "default", **metadata},
        "spec": {
            "clusterName": "c",
            "version": VERSION,
            "bootstrap": {"configRef": reference(CONFIGS, name)},
            "infrastructureRef": reference(INFRA_MACHINES, name),
        },
    }


async def control_plane_machine(plane: Stage) -> None:
    """A Machine that keeps the control plane counting as there."""
    labels = {Label.CONTROL_PLANE: "", Label.CONTROL_PLANE_NAME: "c"}
    await plane.create(
        of(CONFIGS, "cp", spec={}), of(INFRA_MACHINES, "cp", spec={}), machine("cp", labels=labels)
    )


async def running(plane: Stage, **metadata: Any) -> Machine:
    """A Machine with its Node, in a Cluster that is up."""
    await running_cluster(plane)
    await control_plane_machine(plane)
    await plane.create(of(CONFIGS, "m", spec={}), of(INFRA_MACHINES, "m", spec={}))
    await plane.create(machine(**metadata))
    await plane.settle()
    await plane.boot("m")
    await plane.settle()
    return await found(plane)


async def found(plane: Stage, name: str = "m") -> Machine:
    one = await plane.story.get(Machine, name)
    assert one is not None
    return one


def condition(obj: Machine | Cluster, of_type: str) -> Condition:
    (one,) = [one for one in obj.status.conditions if one.type == of_type]
    return one


async def events(plane: Stage, name: str = "m") -> set[str]:
    listed = (await plane.client.list(EVENTS, "default")).items
    return {one["reason"] for one in listed if one["involvedObject"]["name"] == name}


async def delete(plane: Stage, name: str = "m") -> None:
    await plane.client.delete(Machine, Key("default", name))
    await plane.settle()


async def test_a_machine_takes_over_what_its_providers_report(plane: Stage) -> None:
    one = await running(plane)

    assert one.status.phase == "Running"
    assert one.spec.provider_id == "fake://m"
    assert one.spec.bootstrap.data_secret_name == "m"
    assert one.status.node_ref is not None
    assert one.status.node_info is not None
    assert one.status.node_info.kubelet_version == VERSION
    assert one.metadata.finalizers == [Finalizer.MACHINE]
    assert [owner.kind for owner in one.metadata.owner_references] == ["Cluster"]
    assert condition(one, "Available").status == "True"
    assert one.status.observed_generation == one.metadata.generation
    assert "SuccessfulSetNodeRef" in await events(plane)


async def test_its_node_is_initialized_and_says_whose_it_is(plane: Stage) -> None:
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


async def test_a_node_that_falls_ill_or_goes_is_reported(plane: Stage) -> None:
    await running(plane)
    sick = node_of("m")["status"]["conditions"]
    sick[0] = {"type": "Ready", "status": "False", "message": "no network"}
    key = Key("", "m")
    await plane.workload.patch(NODES, key, {"status": {"conditions": sick}}, subresource="status")
    await plane.settle()
    one = await found(plane)
    assert condition(one, "NodeHealthy").message == "* Node.Ready: no network"
    assert condition(one, "Ready").reason == "NotReady"
    assert condition(one, "Available").status == "False"

    await plane.workload.delete(NODES, key)
    await plane.settle()
    one = await found(plane)
    told = condition(one, "NodeReady")
    assert (told.status, told.reason) == ("False", "NodeDeleted")
    assert told.message == "Node m has been deleted while the Machine still exists"


async def test_infrastructure_that_vanishes_is_reported(plane: Stage) -> None:
    await running(plane)
    await plane.client.delete(INFRA_MACHINES, Key("default", "m"))
    await plane.settle()
    told = condition(await found(plane), "InfrastructureReady")
    assert told.reason == "ObjectDeleted"
    assert told.message == "FakeMachine has been deleted while the Machine still exists"


async def test_deletion_goes_from_the_node_outwards(plane: Stage) -> None:
    await running(plane)
    hold = {"metadata": {"finalizers": ["test.example.com/hold"]}}
    for resource in (INFRA_MACHINES, CONFIGS):
        await plane.client.patch(resource, Key("default", "m"), hold)

    await delete(plane)
    told = condition(await found(plane), "Deleting")
    assert told.reason == "WaitingForInfrastructureDeletion"
    assert told.message == "Waiting for FakeMachine to be deleted"
    assert (await found(plane)).status.phase == "Deleting"
    assert "deletionTimestamp" not in (await plane.provider(CONFIGS, "m"))["metadata"]
    node = await plane.workload.get(NODES, Key("", "m"))
    assert node["spec"]["unschedulable"] is True

    free = {"metadata": {"finalizers": None}}
    await plane.client.patch(INFRA_MACHINES, Key("default", "m"), free)
    await plane.settle()
    assert condition(await found(plane), "Deleting").reason == "WaitingForBootstrapDeletion"
    assert len((await plane.workload.list(NODES)).items) == 1

    await plane.client.patch(CONFIGS, Key("default", "m"), free)
    await plane.story.until_gone(Machine, "m")
    assert not (await plane.workload.list(NODES)).items
    assert {"SuccessfulDrainNode", "NodeVolumesDetached"} <= await events(plane)


async def test_hooks_hold_the_deletion_where_they_say(plane: Stage) -> None:
    drain = f"{Annotation.PRE_DRAIN_HOOK_PREFIX}/backup"
    terminate = f"{Annotation.PRE_TERMINATE_HOOK_PREFIX}/etcd"
    await running(plane, annotations={drain: "", terminate: ""})

    await delete(plane)
    told = condition(await found(plane), "Deleting")
    assert told.reason == "WaitingForPreDrainHook"
    assert told.message == f"Waiting for pre-drain hooks to succeed (hooks: {drain})"
    node = await plane.workload.get(NODES, Key("", "m"))
    assert not node["spec"].get("unschedulable")

    await plane.story.merge(Machine, "m", {"metadata": {"annotations": {drain: None}}})
    await plane.settle()
    told = condition(await found(plane), "Deleting")
    assert told.reason == "WaitingForPreTerminateHook"
    assert "deletionTimestamp" not in (await plane.provider(INFRA_MACHINES, "m"))["metadata"]

    await plane.story.merge(Machine, "m", {"metadata": {"annotations": {terminate: None}}})
    await plane.story.until_gone(Machine, "m")


def pod(name: str, **metadata: Any) -> Document:
    container = {"name": "c", "image": "i"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", **metadata},
        "spec": {"nodeName": "m", "containers": [container]},
    }


async def test_a_drain_waits_for_pods_but_not_for_those_of_the_node(plane: Stage) -> None:
    await running(plane)
    await default_namespace(plane.workload)
    labels = {"matchLabels": {"a": "b"}}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod("x")["spec"]}
    daemons = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "daemons", "namespace": "default"},
        "spec": {"selector": labels, "template": template},
    }
    made = await plane.workload.create(DAEMON_SETS, daemons)
    owner = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "name": "daemons",
        "uid": made["metadata"]["uid"],
        "controller": True,
    }
    for given in (
        pod("app", finalizers=["test.example.com/slow"]),
        pod("daemon", ownerReferences=[owner]),
        pod("static", annotations={"kubernetes.io/config.mirror": "x"}),
        pod("kept", labels={Label.DRAIN: "skip"}),
    ):
        await plane.workload.create(PODS, given)

    await delete(plane)
    one = await found(plane)
    told = condition(one, "Deleting")
    assert told.reason == "DrainingNode"
    assert one.status.deletion is not None
    assert told.message == (
        f"Drain not completed yet (started at {one.status.deletion.node_drain_start_time}):\n"
        "* Pod default/app: deletionTimestamp set, but still not removed from the Node"
    )
    ready = condition(one, "Ready").message
    assert ready == "* Deleting: Machine deletion in progress, stage: DrainingNode"

    free = {"metadata": {"finalizers": None}}
    await plane.workload.patch(PODS, Key("default", "app"), free)
    await plane.story.until_gone(Machine, "m")


async def test_a_disruption_budget_is_respected_and_shown(plane: Stage) -> None:
    await running(plane)
    await default_namespace(plane.workload)
    await plane.workload.create(PODS, pod("precious", labels={"app": "precious"}))
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "one-at-least", "namespace": "default"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "precious"}}},
    }
    await plane.workload.create(BUDGETS, budget)
    running_now = {"status": {"phase": "Running"}}
    key = Key("default", "precious")
    await plane.workload.patch(PODS, key, running_now, subresource="status")

    await delete(plane)
    assert condition(await found(plane), "Deleting").message.endswith(
        "\n* Pod default/precious: cannot evict pod as it would violate the pod's disruption "
        "budget. The disruption budget one-at-least needs 1 healthy pods and has 0 currently"
    )
    await plane.workload.delete(BUDGETS, Key("default", "one-at-least"))
    await plane.story.until_gone(Machine, "m", within=30)


async def test_a_drain_that_may_take_no_longer_is_given_up(plane: Stage) -> None:
    await running(plane)
    await default_namespace(plane.workload)
    await plane.workload.create(PODS, pod("app", finalizers=["test.example.com/never"]))
    patch = {"spec": {"deletion": {"nodeDrainTimeoutSeconds": 60}}}
    await plane.story.merge(Machine, "m", patch)

    await delete(plane)
    await plane.settle(40)
    assert condition(await found(plane), "Deleting").reason == "DrainingNode"
    await plane.settle(30)
    assert await plane.story.get(Machine, "m") is None


async def test_nothing_happens_to_a_paused_cluster(plane: Stage) -> None:
    await running_cluster(plane)
    await plane.create(*templates(), deployment(1))
    await plane.settle()
    await plane.story.merge(Cluster, "c", {"spec": {"paused": True}})
    await plane.settle()
    await plane.story.merge(MachineDeployment, "md", {"spec": {"replicas": 4}})
    await plane.boot_all()
    await plane.settle(30)

    (one,) = await plane.story.all(Machine)
    assert not one.spec.provider_id
    for paused in (one, await plane.story.get(Cluster, "c")):
        assert isinstance(paused, Machine | Cluster)
        told = condition(paused, "Paused")
        assert (told.status, told.reason) == ("True", "Paused")
        assert told.message == "Cluster spec.paused is set to true"

    await plane.story.merge(Cluster, "c", {"spec": {"paused": False}})
    await plane.settle()
    machines = await plane.story.all(Machine)
    assert len(machines) == 4
    assert all(condition(one, "Paused").status == "False" for one in machines)
    assert [one.status.phase for one in machines].count("Running") == 1


async def test_a_paused_machine_says_why(plane: Stage) -> None:
    await running(plane)
    await plane.story.merge(Machine, "m", {"metadata": {"annotations": {Annotation.PAUSED: ""}}})
    await plane.settle()
    told = condition(await found(plane), "Paused")
    assert told.message == "Machine has the cluster.x-k8s.io/paused annotation"


async def test_min_ready_seconds_delay_availability(plane: Stage) -> None:
    await running_cluster(plane)
    spec = {**machine()["spec"], "minReadySeconds": 100}
    await plane.create(of(CONFIGS, "m", spec={}), of(INFRA_MACHINES, "m", spec={}))
    await plane.create({**machine(), "spec": spec})
    await plane.settle()
    await plane.boot("m")
    await plane.settle(50)
    told = condition(await found(plane), "Available")
    assert (told.status, told.reason) == ("False", "WaitingForMinReadySeconds")
    await plane.settle(60)
    assert condition(await found(plane), "Available").status == "True"


async def test_a_cluster_that_falls_silent_is_believed_for_five_minutes(plane: Stage) -> None:
    plane.wire.over_network = True
    await running(plane)
    plane.wire.silent = True
    await plane.settle(120)
    owner = await plane.story.get(Cluster, "c")
    assert owner is not None
    assert condition(owner, "RemoteConnectionProbe").reason == "ProbeFailed"
    assert condition(await found(plane), "NodeReady").status == "True"

    await plane.settle(300)
    told = condition(await found(plane), "NodeReady")
    assert (told.status, told.reason) == ("Unknown", "ConnectionDown")
    assert told.message.startswith("Last successful probe at 2026-01-01T00:0")

    plane.wire.silent = False
    await plane.settle(60)
    assert condition(await found(plane), "Available").status == "True"


async def test_what_is_created_paused_gets_its_finalizer(plane: Stage) -> None:
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
    assert [one.type for one in owner.status.conditions] == ["Paused"]
