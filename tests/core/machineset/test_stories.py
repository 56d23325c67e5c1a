"""Tests of the life of a standalone MachineSet."""

from __future__ import annotations

from typing import Any

from kapy.api.machine import Machine
from kapy.api.machine_set import MachineSet
from kapy.conditions.lookup import get
from kapy.kube import Document, Key
from kapy.kube.names import EVENTS
from tests.core.environment import (
    CONFIG_TEMPLATES,
    CONFIGS,
    INFRA_MACHINES,
    INFRA_TEMPLATES,
    VERSION,
    Environment,
    of,
    reference,
    running_cluster,
    templates,
)

DELETE = "cluster.x-k8s.io/delete-machine"


def machine_set(replicas: int, name: str = "ms", **spec: Any) -> Document:
    template = {
        "clusterName": "c",
        "version": VERSION,
        "bootstrap": {"configRef": reference(CONFIG_TEMPLATES, "md")},
        "infrastructureRef": reference(INFRA_TEMPLATES, "md"),
    }
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "MachineSet",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "clusterName": "c",
            "replicas": replicas,
            "template": {"metadata": {"labels": {"pool": "a"}}, "spec": template},
            **spec,
        },
    }


async def started(plane: Environment, replicas: int, **spec: Any) -> MachineSet:
    await running_cluster(plane)
    await plane.create(*templates(), machine_set(replicas, **spec))
    await grown(plane)
    return await found(plane)


async def grown(plane: Environment) -> None:
    await plane.settle()
    await plane.boot_all()
    await plane.settle()


async def found(plane: Environment) -> MachineSet:
    value = await plane.story.get(MachineSet, "ms")
    assert value is not None
    return value


async def names(plane: Environment) -> list[str]:
    return [machine.metadata.name for machine in await plane.story.all(Machine)]


async def test_a_set_is_labelled_for_its_cluster_and_keeps_its_size(plane: Environment) -> None:
    machine_set = await started(plane, 2, machineNaming={"template": "x-{{ .random }}"})
    assert [owner_reference.kind for owner_reference in machine_set.metadata.owner_references] == [
        "Cluster"
    ]
    assert machine_set.status.ready_replicas == 2
    assert all(name.startswith("x-") for name in await names(plane))

    removal, _ = await names(plane)
    await plane.client.delete(Machine, Key("default", removal))
    await grown(plane)
    assert len(await names(plane)) == 2
    assert removal not in await names(plane)


async def test_the_scale_subresource_sets_the_number_and_the_annotation_the_machines(
    plane: Environment,
) -> None:
    await started(plane, 3)
    chosen = (await names(plane))[2]
    await plane.story.merge(Machine, chosen, {"metadata": {"annotations": {DELETE: "yes"}}})
    key, patch = Key("default", "ms"), {"spec": {"replicas": 2}}
    scale = await plane.client.patch(MachineSet.RESOURCE, key, patch, subresource="scale")
    assert scale["kind"] == "Scale"
    await plane.settle(20)
    assert len(await names(plane)) == 2
    assert chosen not in await names(plane)
    reasons = {
        document["reason"] for document in (await plane.client.list(EVENTS, "default")).items
    }
    assert {"SuccessfulCreate", "SuccessfulDelete"} <= reasons


async def test_a_machine_without_a_controller_is_adopted(plane: Environment) -> None:
    await started(plane, 1)
    labels = (await plane.story.all(Machine))[0].metadata.labels
    await plane.create(
        of(CONFIGS, "orphan", spec={}),
        of(INFRA_MACHINES, "orphan", spec={}),
        {
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "Machine",
            "metadata": {"name": "orphan", "namespace": "default", "labels": labels},
            "spec": {
                "clusterName": "c",
                "version": VERSION,
                "bootstrap": {"configRef": reference(CONFIGS, "orphan")},
                "infrastructureRef": reference(INFRA_MACHINES, "orphan"),
            },
        },
    )
    await plane.settle(20)
    reasons = {
        document["reason"] for document in (await plane.client.list(EVENTS, "default")).items
    }
    assert "SuccessfulAdopt" in reasons
    (machine,) = await plane.story.all(Machine)  # two were too many
    assert [
        (owner_reference.kind, owner_reference.controller)
        for owner_reference in machine.metadata.owner_references
    ] == [("MachineSet", True)]


async def test_a_set_without_its_template_reports_it_and_creates_no_machines(
    plane: Environment,
) -> None:
    await started(plane, 1)
    await plane.client.delete(INFRA_TEMPLATES, Key("default", "md"))
    await plane.settle()
    scaling = get((await found(plane)).status.conditions, "ScalingUp")
    assert scaling is not None
    assert (
        scaling.message == "Scaling up would be blocked because FakeMachineTemplate does not exist"
    )

    await plane.story.merge(MachineSet, "ms", {"spec": {"replicas": 2}})
    await plane.settle()
    scaling = get((await found(plane)).status.conditions, "ScalingUp")
    assert scaling is not None
    assert scaling.message == (
        "Scaling up from 1 to 2 replicas is blocked because:\n* FakeMachineTemplate does not exist"
    )
    await plane.create(templates()[0])
    await grown(plane)
    assert len(await names(plane)) == 2


async def test_machines_that_take_long_to_go_are_named_in_time(plane: Environment) -> None:
    await started(plane, 1)
    (name,) = await names(plane)
    patch = {"metadata": {"finalizers": ["example.com/slow"]}}
    await plane.client.patch(INFRA_MACHINES, Key("default", name), patch)
    await plane.story.merge(MachineSet, "ms", {"spec": {"replicas": 0}})
    await plane.settle(14 * 60)
    scaling = get((await found(plane)).status.conditions, "ScalingDown")
    assert scaling is not None
    assert scaling.message == "Scaling down from 1 to 0 replicas"
    await plane.settle(2 * 60)
    scaling = get((await found(plane)).status.conditions, "ScalingDown")
    assert scaling is not None
    assert scaling.message == (
        f"Scaling down from 1 to 0 replicas\n* Machine {name} is in deletion since more than 15m"
    )


async def test_a_paused_set_does_nothing(plane: Environment) -> None:
    await started(plane, 1)
    annotations = {"cluster.x-k8s.io/paused": ""}
    patch = {"metadata": {"annotations": annotations}, "spec": {"replicas": 3}}
    await plane.story.merge(MachineSet, "ms", patch)
    await plane.settle(30)
    assert len(await names(plane)) == 1
    paused = get((await found(plane)).status.conditions, "Paused")
    assert paused is not None
    assert paused.status == "True"
    await plane.story.merge(
        MachineSet, "ms", {"metadata": {"annotations": {"cluster.x-k8s.io/paused": None}}}
    )
    await plane.settle(1)
    assert len(await names(plane)) == 3


async def test_a_settled_set_is_not_written(plane: Environment) -> None:
    await started(plane, 3)
    await plane.settle(15)  # until its Machines are not young any more
    before = len(plane.controllers.writes)
    await plane.story.merge(MachineSet, "ms", {"metadata": {"labels": {"a": "b"}}})
    await plane.settle(60)
    assert plane.controllers.writes[before:] == []


async def test_a_deleted_set_deletes_its_machines(plane: Environment) -> None:
    await started(plane, 2)
    await plane.client.delete(MachineSet, Key("default", "ms"))
    await plane.settle(20)
    assert not await plane.story.all(MachineSet)
    assert not await names(plane)
    assert not await plane.all(INFRA_MACHINES)


async def hold(plane: Environment, name: str) -> None:
    """Keep the infrastructure of a Machine, and so the Machine, when it is deleted."""
    patch = {"metadata": {"finalizers": ["example.com/slow"]}}
    await plane.client.patch(INFRA_MACHINES, Key("default", name), patch)


async def test_machines_that_are_being_deleted_count_when_it_shrinks(plane: Environment) -> None:
    await started(plane, 4)
    going = (await names(plane))[2:]
    for name in going:
        await hold(plane, name)
        await plane.client.delete(Machine, Key("default", name))
    await plane.settle()
    await plane.story.merge(MachineSet, "ms", {"spec": {"replicas": 2}})
    await plane.settle(30)
    assert [
        machine.metadata.name for machine in await plane.story.all(Machine) if machine.deleting
    ] == going

    await plane.story.merge(MachineSet, "ms", {"spec": {"replicas": 1}})
    await plane.settle(30)
    remaining = [
        machine.metadata.name for machine in await plane.story.all(Machine) if not machine.deleting
    ]
    assert len(remaining) == 1


async def test_machines_of_another_set_are_left_alone(plane: Environment) -> None:
    both = {"matchLabels": {"pool": "a"}}
    await started(plane, 2, selector=both)
    await plane.create(machine_set(1, "other", selector=both))
    await plane.settle(30)
    machines = await plane.story.all(Machine)
    owners = sorted(machine.metadata.owner_references[0].name for machine in machines)
    assert owners == ["ms", "ms", "other"]
    assert not any(machine.deleting for machine in machines)


async def test_a_set_stays_until_its_last_machine_is_deleted(plane: Environment) -> None:
    await started(plane, 2)
    slow = (await names(plane))[0]
    await hold(plane, slow)
    await plane.client.delete(MachineSet, Key("default", "ms"))
    await plane.settle(30)
    assert (await found(plane)).deleting
    assert await names(plane) == [slow]
    await plane.finish_deletions()
    await plane.settle(5)
    assert await plane.story.get(MachineSet, "ms") is None


async def test_a_set_gets_its_finalizer_before_it_creates_machines(plane: Environment) -> None:
    """A deletion in between would leave Machines behind."""
    await started(plane, 1)  # all kinds are watched from now on
    before = len(plane.controllers.writes)
    await plane.create(machine_set(1, "second"))
    await plane.settle()
    paths = [path for _, path in plane.controllers.writes[before:]]
    own = next(place for place, path in enumerate(paths) if path.endswith("/machinesets/second"))
    number = next(place for place, path in enumerate(paths) if "/fakeconfigs/" in path)
    assert own < number


async def test_a_set_creates_no_machines_while_creation_is_disabled(plane: Environment) -> None:
    await started(plane, 2)
    annotations = {"cluster.x-k8s.io/disable-machine-create": "true"}
    await plane.story.merge(MachineSet, "ms", {"metadata": {"annotations": annotations}})
    removal, remaining = await names(plane)
    await plane.client.delete(Machine, Key("default", removal))
    await plane.settle(30)
    assert await names(plane) == [remaining]
