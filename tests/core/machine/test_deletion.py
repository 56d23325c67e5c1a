"""The steps of a Machine's end: its Node is emptied, then everything goes."""

from __future__ import annotations

from kapy.api.machine import Machine
from kapy.api.names import Annotation, Label
from kapy.kube import Key
from kapy.kube.names import DAEMON_SETS, NODES, PODS
from tests.core.environment import CONFIGS, INFRA_MACHINES, Environment, default_namespace
from tests.core.machine.running_machine import (
    BUDGETS,
    condition,
    delete,
    events,
    found,
    pod,
    running,
)


async def test_a_deletion_proceeds_from_the_node_outwards(plane: Environment) -> None:
    await running(plane)
    hold = {"metadata": {"finalizers": ["test.example.com/hold"]}}
    for resource in (INFRA_MACHINES, CONFIGS):
        await plane.client.patch(resource, Key("default", "m"), hold)

    await delete(plane)
    result = condition(await found(plane), "Deleting")
    assert result.reason == "WaitingForInfrastructureDeletion"
    assert result.message == "Waiting for FakeMachine to be deleted"
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


async def test_hook_annotations_block_their_step_of_the_deletion(plane: Environment) -> None:
    drain = f"{Annotation.PRE_DRAIN_HOOK_PREFIX}/backup"
    terminate = f"{Annotation.PRE_TERMINATE_HOOK_PREFIX}/etcd"
    await running(plane, annotations={drain: "", terminate: ""})

    await delete(plane)
    result = condition(await found(plane), "Deleting")
    assert result.reason == "WaitingForPreDrainHook"
    assert result.message == f"Waiting for pre-drain hooks to succeed (hooks: {drain})"
    node = await plane.workload.get(NODES, Key("", "m"))
    assert not node["spec"].get("unschedulable")

    await plane.story.merge(Machine, "m", {"metadata": {"annotations": {drain: None}}})
    await plane.settle()
    result = condition(await found(plane), "Deleting")
    assert result.reason == "WaitingForPreTerminateHook"
    assert "deletionTimestamp" not in (await plane.provider(INFRA_MACHINES, "m"))["metadata"]

    await plane.story.merge(Machine, "m", {"metadata": {"annotations": {terminate: None}}})
    await plane.story.until_gone(Machine, "m")


async def test_a_drain_waits_for_pods_but_not_for_those_of_the_node(plane: Environment) -> None:
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
    daemon_machine_set = await plane.workload.create(DAEMON_SETS, daemons)
    owner = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "name": "daemons",
        "uid": daemon_machine_set["metadata"]["uid"],
        "controller": True,
    }
    for document in (
        pod("app", finalizers=["test.example.com/slow"]),
        pod("daemon", ownerReferences=[owner]),
        pod("static", annotations={"kubernetes.io/config.mirror": "x"}),
        pod("kept", labels={Label.DRAIN: "skip"}),
    ):
        await plane.workload.create(PODS, document)

    await delete(plane)
    machine = await found(plane)
    result = condition(machine, "Deleting")
    assert result.reason == "DrainingNode"
    assert machine.status.deletion is not None
    assert result.message == (
        f"Drain not completed yet (started at {machine.status.deletion.node_drain_start_time}):\n"
        "* Pod default/app: deletionTimestamp set, but still not removed from the Node"
    )
    ready = condition(machine, "Ready").message
    assert ready == "* Deleting: Machine deletion in progress, stage: DrainingNode"

    free = {"metadata": {"finalizers": None}}
    await plane.workload.patch(PODS, Key("default", "app"), free)
    await plane.story.until_gone(Machine, "m")


async def test_a_disruption_budget_is_respected_and_shown(plane: Environment) -> None:
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


async def test_a_drain_ends_at_its_timeout(plane: Environment) -> None:
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
