"""MachineSets that hand Machines over, step by step; no MachineDeployment hurries them."""

from __future__ import annotations

from kapy.api.machine import Machine
from kapy.api.machine_set import MachineSet
from kapy.api.names import Annotation, Label
from kapy.kube import Document
from kapy.kube.meta import controller_of
from tests.core.environment import (
    CONFIGS,
    INFRA_MACHINES,
    INFRA_TEMPLATES,
    Environment,
    of,
    reference,
    running_cluster,
    templates,
)
from tests.core.machineset.test_stories import machine_set

UNIQUE = Label.MACHINE_TEMPLATE_HASH
MOVING = {Annotation.MOVE_MACHINES_TO_MACHINE_SET: "new"}
TAKING = {Annotation.RECEIVE_MACHINES_FROM_MACHINE_SETS: "other,old"}


def named(name: str, replicas: int, template: str) -> Document:
    document = machine_set(replicas)
    document["metadata"] |= {"name": name, "labels": {UNIQUE: name}}
    document["spec"]["selector"] = {"matchLabels": {UNIQUE: name}}
    document["spec"]["template"]["metadata"]["labels"] = {UNIQUE: name}
    document["spec"]["template"]["spec"]["infrastructureRef"] = reference(INFRA_TEMPLATES, template)
    document["spec"]["template"]["spec"]["failureDomain"] = f"zone-{name}"
    return document


async def old_and_new(plane: Environment) -> None:
    """Two sets: the old one has three Machines, one of them without a Node; the new one none."""
    await running_cluster(plane)
    large = of(INFRA_TEMPLATES, "large", spec={"template": {"spec": {"size": "large"}}})
    await plane.create(*templates(), large, named("old", 2, "md"), named("new", 0, "large"))
    await plane.settle()
    await plane.boot_all()
    await scale(plane, "old", 3)


async def scale(plane: Environment, name: str, replicas: int, **annotations: str | None) -> None:
    patch: Document = {"spec": {"replicas": replicas}}
    if annotations:
        patch["metadata"] = {"annotations": annotations}
    await plane.story.merge(MachineSet, name, patch)
    await plane.settle()


async def theirs(plane: Environment, name: str) -> list[Machine]:
    """The Machines that a set controls, those with a Node first."""
    machines = [
        machine
        for machine in await plane.story.all(Machine)
        if (owner := controller_of(machine)) is not None and owner.name == name
    ]
    return sorted(machines, key=lambda machine: machine.status.node_ref is None)


async def test_machines_are_handed_over_counted_and_only_then_changed(plane: Environment) -> None:
    await old_and_new(plane)
    await scale(plane, "old", 2, **MOVING)
    assert len(await theirs(plane, "old")) == 3  # the new one does not take any
    await scale(plane, "new", 0, **TAKING)
    await plane.settle(30)
    (moved,) = await theirs(plane, "new")
    assert len(await theirs(plane, "old")) == 2
    assert moved.metadata.labels[UNIQUE] == "new"
    assert moved.metadata.annotations[Annotation.UPDATE_IN_PROGRESS] == ""
    assert moved.metadata.annotations[Annotation.PENDING_ACKNOWLEDGE_MOVE] == ""
    assert Annotation.PENDING_HOOKS not in moved.metadata.annotations
    infra = await plane.provider(INFRA_MACHINES, moved.metadata.name)
    assert infra["spec"]["size"] == "small"
    old, new = [await plane.story.get(MachineSet, name) for name in ("old", "new")]
    assert old is not None
    assert new is not None
    assert (old.status.replicas, new.status.replicas) == (2, 1)
    assert new.status.ready_replicas == 0

    await scale(plane, "new", 1, **{Annotation.ACKNOWLEDGED_MOVE: moved.metadata.name})
    (begun,) = await theirs(plane, "new")
    assert begun.metadata.uid == moved.metadata.uid
    assert begun.metadata.annotations[Annotation.PENDING_HOOKS] == "UpdateMachine"
    assert Annotation.PENDING_ACKNOWLEDGE_MOVE not in begun.metadata.annotations
    assert begun.spec.failure_domain == "zone-new"
    for resource, kind in ((INFRA_MACHINES, "large"), (CONFIGS, "md")):
        document = await plane.provider(resource, moved.metadata.name)
        annotations = document["metadata"]["annotations"]
        assert annotations[Annotation.CLONED_FROM_NAME] == kind
        assert annotations[Annotation.UPDATE_IN_PROGRESS] == ""
        assert document["metadata"]["labels"][UNIQUE] == "new"
    infra = await plane.provider(INFRA_MACHINES, moved.metadata.name)
    assert infra["spec"] == {"size": "large", "providerID": begun.spec.provider_id}


async def test_starting_or_updating_machines_stay_until_they_are_done(plane: Environment) -> None:
    await old_and_new(plane)
    busy, _, coming = await theirs(plane, "old")
    mark: Document = {"metadata": {"annotations": {Annotation.UPDATE_IN_PROGRESS: ""}}}
    owed = {Annotation.PENDING_HOOKS: "UpdateMachine"}
    mark["metadata"]["annotations"] |= owed
    await plane.story.merge(Machine, busy.metadata.name, mark)
    await scale(plane, "new", 0, **TAKING)
    await scale(plane, "old", 0, **MOVING)
    uids = {their.metadata.uid for their in await theirs(plane, "old")}
    assert uids == {busy.metadata.uid, coming.metadata.uid}
    await plane.boot_all()
    await plane.settle(30)
    assert [their.metadata.uid for their in await theirs(plane, "old")] == [busy.metadata.uid]
    done = dict.fromkeys((Annotation.UPDATE_IN_PROGRESS, Annotation.PENDING_HOOKS))
    await plane.story.merge(Machine, busy.metadata.name, {"metadata": {"annotations": done}})
    await plane.settle(30)
    assert await theirs(plane, "old") == []
    assert len(await theirs(plane, "new")) == 3


async def test_a_machine_moved_to_a_set_that_takes_no_more_is_surplus(plane: Environment) -> None:
    """Nobody will count that Machine any more: it is one too many."""
    await old_and_new(plane)
    await scale(plane, "new", 0, **TAKING)
    await scale(plane, "old", 2, **MOVING)
    (moved,) = await theirs(plane, "new")
    await scale(plane, "new", 0, **dict.fromkeys(TAKING))
    assert moved.metadata.uid not in {
        machine.metadata.uid for machine in await plane.story.all(Machine)
    }
