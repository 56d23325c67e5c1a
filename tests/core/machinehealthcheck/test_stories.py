"""Tests of Machines that a MachineHealthCheck watches."""

from __future__ import annotations

from typing import Any

from kapy.api.cluster import Cluster
from kapy.api.condition import Condition, V1Beta1Condition
from kapy.api.machine import Machine
from kapy.api.machine_health_check import MachineHealthCheck
from kapy.api.machine_set import MachineSet
from kapy.api.names import Annotation, Label
from kapy.conditions import v1beta1
from kapy.kube import Document, Key
from kapy.kube.errors import Forbidden
from kapy.kube.http import Request
from kapy.kube.names import CRDS, EVENTS, NODES, Resource
from tests.core.environment import (
    Environment,
    crd_of,
    deployment,
    node_of,
    of,
    running_cluster,
    templates,
)

REQUESTS = Resource("remedy.example.com", "v1", "fixits", "Fixit")
TEMPLATES = Resource("remedy.example.com", "v1", "fixittemplates", "FixitTemplate")
REFERENCE = {"apiVersion": "remedy.example.com/v1", "kind": "FixitTemplate", "name": "fix"}


def check(name: str = "mhc", **spec: Any) -> Document:
    """A check of all workers: a Node must not be NotReady for 60 seconds."""
    conditions = [{"type": "Ready", "status": "False", "timeoutSeconds": 60}]
    checks = {"nodeStartupTimeoutSeconds": 600, "unhealthyNodeConditions": conditions}
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "MachineHealthCheck",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "clusterName": "c",
            "selector": {"matchLabels": {Label.DEPLOYMENT_NAME: "md"}},
            "checks": checks,
            **spec,
        },
    }


async def watched(plane: Environment, replicas: int = 3, **spec: Any) -> list[str]:
    """A Cluster with running workers, all of them watched; returns their names."""
    await running_cluster(plane)
    await plane.create(*templates(), deployment(replicas), check(**spec))
    await plane.settle()
    await plane.boot_all()
    await plane.settle()
    return await names(plane)


async def names(plane: Environment) -> list[str]:
    return [item.metadata.name for item in await plane.story.all(Machine)]


async def report(plane: Environment, name: str, status: str) -> None:
    """The Node's kubelet says whether it is ready."""
    since = plane.clock().strftime("%Y-%m-%dT%H:%M:%SZ")
    conditions = node_of(name)["status"]["conditions"]
    ready = {"type": "Ready", "status": status, "reason": "Kubelet", "lastTransitionTime": since}
    patch = {"status": {"conditions": [ready, *conditions[1:]]}}
    await plane.workload.patch(NODES, Key("", name), patch, subresource="status")


async def fall_ill(plane: Environment, *machines: str, seconds: float = 66.0) -> None:
    for name in machines:
        await report(plane, name, "False")
    await plane.settle(seconds)


async def seen(plane: Environment) -> MachineHealthCheck:
    machine_health_check = await plane.story.get(MachineHealthCheck, "mhc")
    assert machine_health_check is not None
    return machine_health_check


async def machine(plane: Environment, name: str) -> Machine:
    result = await plane.story.get(Machine, name)
    assert result is not None
    return result


def condition(obj: Any, of_type: str) -> Condition:
    (result,) = [item for item in obj.status.conditions if item.type == of_type]
    assert isinstance(result, Condition)
    return result


def legacy(obj: Any, of_type: str) -> V1Beta1Condition | None:
    return v1beta1.get(v1beta1.conditions_of(obj), of_type)


async def counts(plane: Environment) -> tuple[int | None, int | None, int | None]:
    status = (await seen(plane)).status
    return status.expected_machines, status.current_healthy, status.remediations_allowed


async def events(plane: Environment) -> list[str]:
    listed = (await plane.client.list(EVENTS, "default")).items
    return [document["reason"] for document in listed]


async def keep_bound(plane: Environment) -> None:
    """Nobody replaces Machines, so that it can be seen what is asked of their owner."""
    patch = {"metadata": {"annotations": {Annotation.PAUSED: ""}}}
    for machine_set in await plane.story.all(MachineSet):
        await plane.story.merge(MachineSet, machine_set.metadata.name, patch)


async def test_healthy_machines_are_counted_and_reported(plane: Environment) -> None:
    workers = await watched(plane)

    health_check = await seen(plane)
    assert health_check.status.targets == workers
    assert await counts(plane) == (3, 3, 3)
    assert condition(health_check, "RemediationAllowed").status == "True"
    assert condition(health_check, "Paused").status == "False"
    assert health_check.status.observed_generation == 1
    assert health_check.metadata.labels[Label.CLUSTER_NAME] == "c"
    assert [reference.kind for reference in health_check.metadata.owner_references] == ["Cluster"]
    for name in workers:
        result = condition(await machine(plane, name), "HealthCheckSucceeded")
        assert (result.status, result.reason) == ("True", "HealthCheckSucceeded")


async def test_a_settled_check_writes_nothing(plane: Environment) -> None:
    await watched(plane)
    before = len(plane.controllers.writes)
    for _ in range(3):
        await report(plane, (await names(plane))[0], "True")
        await plane.settle(700)
    assert not [
        path for _, path in plane.controllers.writes[before:] if "machinehealthchecks" in path
    ]


async def test_an_unhealthy_machine_is_replaced_after_its_timeout(plane: Environment) -> None:
    sick, *others = await watched(plane)
    await fall_ill(plane, sick, seconds=50)
    assert await names(plane) == sorted([sick, *others])
    assert condition(await machine(plane, sick), "HealthCheckSucceeded").status == "True"

    await plane.settle(20)
    await plane.finish_deletions()
    await plane.settle()
    await plane.boot_all()
    await plane.settle()
    remaining = await names(plane)
    assert sick not in remaining
    assert len(remaining) == 3
    assert await counts(plane) == (3, 3, 3)
    assert "MachineMarkedUnhealthy" in await events(plane)


async def test_the_owner_gets_one_request_for_remediation(plane: Environment) -> None:
    sick, *_ = await watched(plane)
    await keep_bound(plane)
    await fall_ill(plane, sick)

    result = await machine(plane, sick)
    value = condition(result, "HealthCheckSucceeded")
    assert (value.status, value.reason) == ("False", "UnhealthyNode")
    request = condition(result, "OwnerRemediated")
    assert (request.reason, request.message) == ("WaitingForRemediation", "Waiting for remediation")
    assert legacy(result, "OwnerRemediated") is not None

    answer = {**asked_by_owner(result), "reason": "RemediationDeferred", "message": "later"}
    rest = [document for document in conditions_of(result) if document["type"] != "OwnerRemediated"]
    patch = {"status": {"conditions": [*rest, answer]}}
    key = Key("default", sick)
    await plane.client.patch(Machine, key, patch, subresource="status")
    await plane.settle()
    assert condition(await machine(plane, sick), "OwnerRemediated").reason == "RemediationDeferred"


def conditions_of(value: Machine) -> list[Document]:
    return [
        {
            "type": item.type,
            "status": item.status,
            "reason": item.reason,
            "message": item.message,
            "lastTransitionTime": item.last_transition_time,
        }
        for item in value.status.conditions
    ]


def asked_by_owner(value: Machine) -> Document:
    return next(
        document for document in conditions_of(value) if document["type"] == "OwnerRemediated"
    )


async def test_a_machine_that_recovers_in_time_is_left_alone(plane: Environment) -> None:
    sick, *_ = workers = await watched(plane)
    await fall_ill(plane, sick, seconds=50)
    assert await counts(plane) == (3, 2, 2)
    await report(plane, sick, "True")
    await plane.settle(600)
    assert await counts(plane) == (3, 3, 3)
    assert await names(plane) == workers


async def test_too_many_unhealthy_machines_are_not_replaced(plane: Environment) -> None:
    workers = await watched(plane, remediation={"triggerIf": {"unhealthyLessThanOrEqualTo": 1}})
    await fall_ill(plane, *workers[:2])

    health_check = await seen(plane)
    result = condition(health_check, "RemediationAllowed")
    assert (result.status, result.reason) == ("False", "TooManyUnhealthy")
    assert result.message.endswith("exceeds maxUnhealthy (total: 3, unhealthy: 2, maxUnhealthy: 1)")
    old = legacy(health_check, "RemediationAllowed")
    assert old is not None
    assert (old.severity, old.reason) == ("Warning", "TooManyUnhealthy")
    assert await counts(plane) == (3, 1, 0)
    sick = await machine(plane, workers[0])
    assert condition(sick, "HealthCheckSucceeded").reason == "UnhealthyNode"
    assert not [item for item in sick.status.conditions if item.type == "OwnerRemediated"]
    assert await names(plane) == workers
    assert (await events(plane)).count("RemediationRestricted") >= 1

    await report(plane, workers[1], "True")
    await plane.settle()
    assert condition(await seen(plane), "RemediationAllowed").status == "True"


async def test_an_invalid_range_is_reported(plane: Environment) -> None:
    await watched(plane, 1, remediation={"triggerIf": {"unhealthyInRange": "[5-2]"}})
    result = condition(await seen(plane), "RemediationAllowed")
    assert (result.status, result.reason) == ("False", "InternalError")
    assert result.message == "max value 2 cannot be less than min value 5 for unhealthyRange"


async def test_a_lost_node_and_a_node_that_never_joined_are_unhealthy(plane: Environment) -> None:
    removal, *_ = await watched(plane)
    await keep_bound(plane)
    await plane.workload.delete(NODES, Key("", removal))
    await plane.settle()
    result = condition(await machine(plane, removal), "HealthCheckSucceeded")
    assert result.message == f"Health check failed:\n  * Node {removal} has been deleted"

    await plane.create(deployment(1, "late"), *templates("late"))
    selector = {"matchLabels": {Label.DEPLOYMENT_NAME: "late"}}
    await plane.create(check("late", selector=selector))
    await plane.settle()
    await keep_bound(plane)
    await plane.settle(585)
    (late,) = set(await names(plane)) - set((await seen(plane)).status.targets)
    present = [item.type for item in (await machine(plane, late)).status.conditions]
    assert "HealthCheckSucceeded" not in present
    await plane.settle(20)
    result = condition(await machine(plane, late), "HealthCheckSucceeded")
    assert result.reason == "NodeStartupTimeout"


async def test_annotations_exclude_a_machine_or_force_its_remediation(plane: Environment) -> None:
    text, two, three = await watched(plane)
    await keep_bound(plane)
    for name, annotation in ((text, Annotation.SKIP_REMEDIATION), (two, Annotation.PAUSED)):
        patch = {"metadata": {"annotations": {annotation: ""}}}
        await plane.story.merge(Machine, name, patch)
    await plane.settle()
    assert (await seen(plane)).status.targets == [three]
    await fall_ill(plane, text, two)
    assert condition(await machine(plane, text), "HealthCheckSucceeded").status == "True"

    patch = {"metadata": {"annotations": {Annotation.REMEDIATE_MACHINE: ""}}}
    await plane.story.merge(Machine, three, patch)
    await plane.settle()
    result = condition(await machine(plane, three), "HealthCheckSucceeded")
    assert result.reason == "HasRemediateAnnotation"
    assert condition(await machine(plane, three), "OwnerRemediated").status == "False"


async def test_while_it_is_paused_nothing_is_reported(plane: Environment) -> None:
    sick, *_ = await watched(plane)
    await plane.story.merge(Cluster, "c", {"spec": {"paused": True}})
    await fall_ill(plane, sick)
    result = condition(await seen(plane), "Paused")
    assert (result.status, result.message) == ("True", "Cluster spec.paused is set to true")
    assert condition(await machine(plane, sick), "HealthCheckSucceeded").status == "True"

    await plane.story.merge(Cluster, "c", {"spec": {"paused": None}})
    await plane.settle()
    assert condition(await seen(plane), "Paused").status == "False"
    assert sick not in await names(plane)


async def test_machines_of_an_unreachable_cluster_are_not_unhealthy(plane: Environment) -> None:
    workers = await watched(plane)
    plane.wire.silent = True
    await plane.stop()
    plane.start()
    await plane.settle(1200)
    assert await names(plane) == workers
    assert condition(await machine(plane, workers[0]), "HealthCheckSucceeded").status == "True"

    await plane.workload.delete(NODES, Key("", workers[0]))
    plane.wire.silent = False
    await plane.settle(60)
    assert workers[0] not in await names(plane)


async def test_an_external_remediation_is_requested(plane: Environment) -> None:
    workers = await watched(plane, remediation={"templateRef": REFERENCE})
    sick = workers[0]
    await fall_ill(plane, sick)
    result = condition(await machine(plane, sick), "ExternallyRemediated")
    assert result.reason == "RemediationTemplateNotFound"
    assert result.message == "Error retrieving remediation template FixitTemplate default/fix"
    old = legacy(await seen(plane), "ExternalRemediationTemplateAvailable")
    assert old is not None
    assert (old.status, old.severity) == ("False", "Error")

    for resource in (REQUESTS, TEMPLATES):
        await plane.client.create(CRDS, crd_of(resource))
    await plane.settle()
    template = of(TEMPLATES, "fix", spec={"template": {"spec": {"how": "reboot"}}})
    await plane.client.create(TEMPLATES, template)
    await plane.settle()
    request = await plane.client.get(REQUESTS, Key("default", sick))
    assert request["spec"] == {"how": "reboot"}
    assert [reference["name"] for reference in request["metadata"]["ownerReferences"]] == [sick]
    result = condition(await machine(plane, sick), "ExternallyRemediated")
    assert (result.status, result.reason) == ("False", "WaitingForRemediation")
    assert not [
        item
        for item in (await machine(plane, sick)).status.conditions
        if item.type == "OwnerRemediated"
    ]
    assert await names(plane) == workers

    await report(plane, sick, "True")
    await plane.settle()
    assert not (await plane.client.list(REQUESTS, "default")).items
    assert condition(await machine(plane, sick), "HealthCheckSucceeded").status == "True"


async def remediated_by_others(plane: Environment) -> None:
    """There are templates and requests, and somebody could serve them."""
    for resource in (REQUESTS, TEMPLATES):
        await plane.client.create(CRDS, crd_of(resource))
    await plane.client.create(TEMPLATES, of(TEMPLATES, "fix", spec={"template": {"spec": {}}}))


async def test_a_request_with_a_lost_answer_is_made_once(plane: Environment) -> None:
    await remediated_by_others(plane)
    sick, *_ = await watched(plane, remediation={"templateRef": REFERENCE})
    plane.controllers.lose = lambda request: request.path.endswith("/fixits")
    await fall_ill(plane, sick)
    assert len((await plane.client.list(REQUESTS, "default")).items) == 1
    result = condition(await machine(plane, sick), "ExternallyRemediated")
    assert result.reason == "WaitingForRemediation"


async def test_a_request_that_is_refused_is_reported_and_tried_again(plane: Environment) -> None:
    await remediated_by_others(plane)
    sick, *_ = await watched(plane, remediation={"templateRef": REFERENCE})

    def refused(request: Request) -> Exception | None:
        creates = request.method == "POST" and request.path.endswith("/fixits")
        return Forbidden("not today") if creates else None

    plane.controllers.fault = refused
    await fall_ill(plane, sick)
    result = condition(await machine(plane, sick), "ExternallyRemediated")
    assert result.reason == "RemediationRequestCreationFailed"
    old = legacy(await seen(plane), "ExternalRemediationRequestAvailable")
    assert old is not None
    assert old.message == "not today"

    plane.controllers.fault = lambda _: None
    await plane.settle(300)
    result = condition(await machine(plane, sick), "ExternallyRemediated")
    assert result.reason == "WaitingForRemediation"
    assert legacy(await seen(plane), "ExternalRemediationRequestAvailable") is None
