"""Machines that a health check marked are replaced, within limits and in order."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.api.condition import Condition
from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_set import MachineSet
from kapy.conditions.lookup import get
from kapy.core.machineset.remediation import sort_for_remediation
from kapy.kube import Document, Key
from kapy.kube.meta import read
from tests.core.environment import (
    CONTROL_PLANES,
    INFRA_MACHINES,
    Environment,
    deployment,
    running_cluster,
    templates,
)

REMEDIATE = "cluster.x-k8s.io/remediate-machine"
TOO_MANY = (
    "Waiting because there are already too many remediations in progress "
    "(spec.strategy.remediation.maxInFlight is 1)"
)


async def started(plane: Environment, replicas: int, **spec: Any) -> list[str]:
    """The names of Machines that are all there."""
    await running_cluster(plane)
    await plane.create(*templates(), deployment(replicas, **spec))
    await plane.settle()
    await plane.boot_all()
    await plane.settle()
    return [item.metadata.name for item in await plane.story.all(Machine)]


async def say(plane: Environment, name: str, **statuses: str) -> None:
    """Set conditions of a Machine, as a health check does."""
    key = Key("default", name)
    document = await plane.client.get(Machine.RESOURCE, key)
    others = [
        condition
        for condition in document["status"]["conditions"]
        if condition["type"] not in statuses
    ]
    messages = [
        {
            "type": of,
            "status": status,
            "reason": "WaitingForRemediation",
            "message": "not ready for 5m",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        for of, status in statuses.items()
    ]
    patch = {"status": {"conditions": [*others, *messages]}}
    await plane.client.patch(Machine.RESOURCE, key, patch, subresource="status")


async def mark(plane: Environment, *names: str) -> None:
    """Ask for the replacement of Machines."""
    for name in names:
        await say(plane, name, HealthCheckSucceeded="False", OwnerRemediated="False")


async def hold(plane: Environment, *names: str) -> None:
    """Let the provider take its time with the deletion of Machines."""
    for name in names:
        patch = {"metadata": {"finalizers": ["example.com/slow"]}}
        await plane.client.patch(INFRA_MACHINES, Key("default", name), patch)


async def remediated(plane: Environment, name: str) -> Condition | None:
    result = await plane.story.get(Machine, name)
    assert result is not None
    return get(result.status.conditions, "OwnerRemediated")


async def of_the_set(plane: Environment, type_: str) -> Condition:
    (machine_set,) = await plane.story.all(MachineSet)
    condition = get(machine_set.status.conditions, type_)
    assert condition is not None
    return condition


async def test_a_marked_machine_is_deleted_and_replaced(plane: Environment) -> None:
    first, second = await started(plane, 2)
    await hold(plane, first)
    await mark(plane, first)
    await plane.settle()

    condition = await remediated(plane, first)
    assert condition is not None
    assert (condition.reason, condition.message) == ("MachineDeleting", "Machine is deleting")
    remediating = await of_the_set(plane, "Remediating")
    assert (remediating.status, remediating.reason) == ("True", "Remediating")
    assert remediating.message == f"* Machine {first}: Machine is deleting"

    await plane.finish_deletions()
    await plane.settle()
    names = {item.metadata.name for item in await plane.story.all(Machine)}
    assert len(names) == 2
    assert first not in names
    assert second in names
    assert (await of_the_set(plane, "Remediating")).status == "False"


async def test_a_machine_that_recovers_is_not_replaced(plane: Environment) -> None:
    (name,) = await started(plane, 1)
    await say(plane, name, HealthCheckSucceeded="True", OwnerRemediated="False")
    await plane.settle()
    assert await remediated(plane, name) is None
    assert [item.metadata.name for item in await plane.story.all(Machine)] == [name]


async def test_no_more_than_max_in_flight_are_replaced_at_a_time(plane: Environment) -> None:
    names = await started(plane, 3, remediation={"maxInFlight": 1})
    await hold(plane, *names)
    chosen = names[1]
    await plane.story.merge(Machine, chosen, {"metadata": {"annotations": {REMEDIATE: ""}}})
    # All at once: whoever comes first must not win just for that.
    await plane.stop()
    await mark(plane, *names)
    plane.start()
    await plane.settle()

    for name in names:
        condition = await remediated(plane, name)
        assert condition is not None
        if name == chosen:
            assert condition.reason == "MachineDeleting"
        else:
            assert (condition.reason, condition.message) == ("RemediationDeferred", TOO_MANY)

    await plane.finish_deletions()
    await plane.settle(2)
    deleting = [item for item in await plane.story.all(Machine) if item.deleting]
    assert len(deleting) == 1
    assert deleting[0].metadata.name in names


async def test_machines_of_an_old_template_are_left_to_the_rollout(plane: Environment) -> None:
    names = await started(plane, 2)
    patch = {"spec": {"template": {"spec": {"version": "v1.33.7"}}}}
    await plane.story.merge(MachineDeployment, "md", patch)
    await plane.settle()
    await mark(plane, names[0])
    await plane.settle()

    condition = await remediated(plane, names[0])
    assert condition is not None
    assert (condition.reason, condition.message) == (
        "CannotBeRemediated",
        "Machine won't be remediated because it is pending removal due to rollout",
    )


async def test_remediation_waits_for_the_control_plane(plane: Environment) -> None:
    (name,) = await started(plane, 1)
    await hold(plane, name)
    key = Key("default", "c")
    await plane.client.patch(CONTROL_PLANES, key, {"spec": {"version": "v1.34.5"}})
    await mark(plane, name)
    await plane.settle()
    condition = await remediated(plane, name)
    assert condition is not None
    assert (condition.reason, condition.message) == (
        "RemediationDeferred",
        '* FakeControlPlane default/c is upgrading ("ControlPlaneIsStable" preflight check failed)',
    )
    result = await plane.client.get(Machine, Key("default", name))
    assert result.status.deprecated is not None
    assert result.status.deprecated.v1beta1 is not None
    (old,) = [
        beta1_condition
        for beta1_condition in result.status.deprecated.v1beta1.conditions
        if beta1_condition.type == "OwnerRemediated"
    ]
    assert (old.status, old.severity, old.reason) == ("False", "Warning", "WaitingForRemediation")

    version = "v1.34.5"
    versions = [{"version": version, "replicas": 1}]
    await plane.report(CONTROL_PLANES, "c", version=version, versions=versions)
    await plane.settle(1)
    condition = await remediated(plane, name)
    assert condition is not None
    assert condition.reason == "MachineDeleting"


def machine(name: str, text: str, **annotations: str) -> Machine:
    nothing = {"apiGroup": "x.example.com", "kind": "Nothing", "name": "nothing"}
    metadata: Document = {
        "name": name,
        "creationTimestamp": f"2026-01-01T00:00:{text}Z",
        "annotations": annotations,
    }
    spec = {"clusterName": "c", "bootstrap": {}, "infrastructureRef": nothing}
    return read({"metadata": metadata, "spec": spec}, Machine)


@pytest.mark.parametrize(
    ("machines", "expected"),
    [
        ([machine("a", "01"), machine("b", "02")], "ba"),
        ([machine("b", "01"), machine("a", "01")], "ab"),
        ([machine("a", "09"), machine("b", "01", **{REMEDIATE: ""})], "ba"),
    ],
)
def test_machines_are_remediated_in_a_fixed_order(machines: list[Machine], expected: str) -> None:
    assert [item.metadata.name for item in sort_for_remediation(machines)] == list(expected)
