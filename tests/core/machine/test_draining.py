"""Tests of draining the Node and detaching its volumes when a Machine is deleted."""

from __future__ import annotations

import pytest

from kapy.api.machine import Machine
from kapy.api.machine_drain_rule import MachineDrainRule
from kapy.api.names import Annotation
from kapy.kube import Key
from kapy.kube.names import NAMESPACES, NODES, PODS, SECRETS, Resource
from tests.core.environment import INFRA_MACHINES, Environment, default_namespace, node_of
from tests.core.machine.running_machine import (
    BUDGETS,
    condition,
    delete,
    events,
    found,
    free,
    of_pods,
    pod,
    pods,
    rule,
    running,
    waits,
)

ATTACHMENTS = Resource(
    "storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment", namespaced=False
)
STUCK = "deletionTimestamp set, but still not removed from the Node"


async def attached(plane: Environment, volume: str, node: str = "m") -> None:
    """A volume that is attached to a Node."""
    attachment = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "VolumeAttachment",
        "metadata": {"name": volume},
        "spec": {
            "attacher": "csi.example.com",
            "nodeName": node,
            "source": {"persistentVolumeName": volume},
        },
    }
    await plane.workload.create(ATTACHMENTS, attachment)
    status = {"status": {"attached": True}}
    await plane.workload.patch(ATTACHMENTS, Key("", volume), status, subresource="status")


async def test_pods_leave_in_the_order_of_their_rules(plane: Environment) -> None:
    await running(plane)
    await pods(plane, *(pod(tier, labels={"tier": tier}) for tier in ("db", "web", "job", "log")))
    await rule(plane, "db", "Drain", order=10, pods=of_pods(tier="db"))
    await rule(plane, "job", "WaitCompleted", pods=of_pods(tier="job"))
    await rule(plane, "log", "Skip", pods=of_pods(tier="log"))

    await delete(plane)
    assert await waits(plane) == (
        f"* Pod default/web: {STUCK}\n"
        "* Pod default/job: waiting for completion\n"
        "After above Pods have been removed from the Node, the following Pods will be evicted: "
        "default/db"
    )
    await free(plane, "web")
    await plane.settle(1)
    assert (await waits(plane)).startswith("* Pod default/job: waiting for completion\nAfter")
    await plane.workload.delete(PODS, Key("default", "job"))
    await free(plane, "job")
    await plane.settle(1)
    assert await waits(plane) == f"* Pod default/db: {STUCK}"
    await free(plane, "db")
    await plane.story.until_gone(Machine, "m", within=2)
    assert [
        document["metadata"]["name"] for document in (await plane.workload.list(PODS)).items
    ] == ["log"]


async def test_rules_know_the_namespaces_of_pods(plane: Environment) -> None:
    await running(plane)
    await pods(plane, pod("app"))
    team = {"metadata": {"labels": {"team": "x"}}}
    await plane.workload.patch(NAMESPACES, Key("", "default"), team)
    await rule(plane, "a", "Drain", pods=[{"namespaceSelector": {"matchLabels": {"team": "y"}}}])
    await rule(plane, "b", "Skip", pods=[{"namespaceSelector": {"matchLabels": {"team": "x"}}}])
    await delete(plane)
    assert await plane.story.get(Machine, "m") is None


async def test_the_first_rule_by_name_counts_and_a_change_of_rules_is_noticed(
    plane: Environment,
) -> None:
    await running(plane)
    await pods(plane, pod("app"))
    await rule(plane, "b", "Skip")
    await rule(plane, "a", "WaitCompleted")
    await delete(plane)
    assert await waits(plane) == "* Pod default/app: waiting for completion"
    await plane.client.delete(MachineDrainRule, Key("default", "a"))
    await plane.story.until_gone(Machine, "m", within=2)


async def test_nothing_is_polled_while_pods_take_their_time(plane: Environment) -> None:
    await running(plane)
    await pods(plane, pod("app"))
    await delete(plane)
    before, written = len(plane.wire.requests), len(plane.controllers.writes)
    await plane.settle(3600)
    assert [
        request.path for request in plane.wire.requests[before:] if not request.query.get("watch")
    ] == []
    assert len(plane.controllers.writes) == written
    await free(plane, "app")
    await plane.story.until_gone(Machine, "m", within=2)


async def test_a_budget_that_allows_it_again_is_noticed_at_once(plane: Environment) -> None:
    await running(plane)
    await default_namespace(plane.workload)
    await plane.workload.create(PODS, pod("precious", labels={"app": "precious"}))
    ready = {"status": {"phase": "Running"}}
    await plane.workload.patch(PODS, Key("default", "precious"), ready, subresource="status")
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "one-at-least", "namespace": "default"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "precious"}}},
    }
    await plane.workload.create(BUDGETS, budget)
    await delete(plane)
    assert (await waits(plane)).startswith("* Pod default/precious: cannot evict pod")
    await plane.settle(2)
    await plane.workload.delete(BUDGETS, Key("default", "one-at-least"))
    await plane.story.until_gone(Machine, "m", within=2)


async def test_pods_of_a_silent_node_are_not_waited_for(plane: Environment) -> None:
    await running(plane)
    await pods(plane, pod("app"))
    unknown = [{"type": "Ready", "status": "Unknown"}, *node_of("m")["status"]["conditions"][1:]]
    status = {"status": {"conditions": unknown}}
    await plane.workload.patch(NODES, Key("", "m"), status, subresource="status")
    await plane.settle()
    await delete(plane)
    assert await plane.story.get(Machine, "m") is None


@pytest.mark.parametrize(
    "annotation",
    [Annotation.EXCLUDE_NODE_DRAINING, Annotation.EXCLUDE_WAIT_FOR_NODE_VOLUME_DETACH],
)
async def test_a_machine_may_be_excluded_from_a_step(plane: Environment, annotation: str) -> None:
    await running(plane, annotations={annotation: ""})
    draining = annotation == Annotation.EXCLUDE_NODE_DRAINING
    if draining:
        await pods(plane, pod("app"))
    else:
        await attached(plane, "v")
    await delete(plane)
    assert await plane.story.get(Machine, "m") is None


async def test_volumes_are_detached_before_the_machine_is_deleted(plane: Environment) -> None:
    await running(plane)
    await attached(plane, "data")
    await attached(plane, "elsewhere", node="other")
    await delete(plane)
    machine = await found(plane)
    result = condition(machine, "Deleting")
    assert result.reason == "WaitingForVolumeDetach"
    assert machine.status.deletion is not None
    assert result.message == (
        "Waiting for Node volumes to be detached (started at "
        f"{machine.status.deletion.wait_for_node_volume_detach_start_time})\n"
        "* VolumeAttachment with .spec.source.persistentVolumeName not matching a "
        "PersistentVolume: data"
    )
    assert "deletionTimestamp" not in (await plane.provider(INFRA_MACHINES, "m"))["metadata"]
    before = len(plane.wire.requests)
    await plane.settle(3600)
    assert not [
        request for request in plane.wire.requests[before:] if not request.query.get("watch")
    ]
    await plane.workload.delete(ATTACHMENTS, Key("", "data"))
    await plane.story.until_gone(Machine, "m", within=2)


async def test_volumes_that_the_node_lists_are_waited_for_until_the_timeout(
    plane: Environment,
) -> None:
    await running(plane)
    volumes = {"status": {"volumesAttached": [{"name": "csi^v", "devicePath": ""}]}}
    await plane.workload.patch(NODES, Key("", "m"), volumes, subresource="status")
    patch = {"spec": {"deletion": {"nodeVolumeDetachTimeoutSeconds": 60}}}
    await plane.story.merge(Machine, "m", patch)
    await delete(plane)
    assert condition(await found(plane), "Deleting").reason == "WaitingForVolumeDetach"
    await plane.settle(50)
    assert await plane.story.get(Machine, "m") is not None
    await plane.settle(10)
    assert await plane.story.get(Machine, "m") is None


async def test_a_cluster_that_is_silent_is_waited_for(plane: Environment) -> None:
    await running(plane)
    await pods(plane, pod("app"))
    plane.wire.silent = True
    await plane.settle(120)
    await delete(plane)
    result = condition(await found(plane), "Deleting")
    assert (result.reason, result.message) == (
        "DrainingNode",
        "Error draining Node, please check controller logs for errors",
    )
    assert "FailedDrainNode" in await events(plane)
    await plane.settle(7200)
    assert condition(await found(plane), "Deleting").reason == "DrainingNode"

    plane.wire.silent = False
    await plane.settle(60)
    assert await waits(plane) == f"* Pod default/app: {STUCK}"
    await free(plane, "app")
    await plane.story.until_gone(Machine, "m", within=2)


async def test_a_cluster_that_is_silent_does_not_keep_a_machine_beyond_its_time(
    plane: Environment,
) -> None:
    await running(plane)
    limits = {"nodeDrainTimeoutSeconds": 600, "nodeVolumeDetachTimeoutSeconds": 600}
    patch = {"spec": {"deletion": {**limits, "nodeDeletionTimeoutSeconds": 600}}}
    await plane.story.merge(Machine, "m", patch)
    plane.wire.silent = True
    await plane.settle(120)
    await delete(plane)
    for reason, seconds in (
        ("DrainingNode", 600),
        ("WaitingForVolumeDetach", 600),
        ("DeletingNode", 600),
    ):
        assert condition(await found(plane), "Deleting").reason == reason
        await plane.settle(seconds)
    assert await plane.story.get(Machine, "m") is None


async def test_pods_that_left_unobserved_are_not_awaited(plane: Environment) -> None:
    await running(plane)
    await pods(plane, pod("app"), pod("late"))
    await delete(plane)
    await plane.stop()
    await free(plane, "app")
    plane.start()
    await plane.settle()
    assert await waits(plane) == f"* Pod default/late: {STUCK}"
    await free(plane, "late")
    await plane.story.until_gone(Machine, "m", within=2)


async def test_a_drain_continues_after_a_lost_connection(plane: Environment) -> None:
    await running(plane)
    await pods(plane, pod("app"))
    await delete(plane)
    secret = Key("default", "c-kubeconfig")
    await plane.client.delete(SECRETS, secret)
    await plane.settle()
    await free(plane, "app")
    await plane.connect()
    await plane.story.until_gone(Machine, "m", within=10)
