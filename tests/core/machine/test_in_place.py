"""Machines whose owners have them updated in place, and who is asked when."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_set import MachineSet
from kapy.api.names import Annotation, Label
from kapy.core.machine.scope import Progress, ProgressMemo
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError
from kapy.kube.names import Resource
from tests.core.environment import CONFIGS, INFRA_MACHINES, INFRA_TEMPLATES, Environment, of
from tests.core.machine.running_machine import condition, found, running
from tests.core.machinedeployment.test_stories import sizes, started

MARK: Document = {"metadata": {"annotations": {Annotation.UPDATE_IN_PROGRESS: ""}}}
OWED: Document = {"metadata": {"annotations": {Annotation.PENDING_HOOKS: "Other,UpdateMachine"}}}


@dataclass
class Updates:
    """An extension that covers everything. progress: what it says of updates; fails: or why it
    cannot; asked: what it was told."""

    progress: Progress = field(default_factory=Progress)
    fails: str = ""
    asked: list[Document] = field(default_factory=list)

    async def update_machine(self, _: Key, desired: Document) -> Progress:
        self.asked.append(desired)
        if self.fails:
            raise KapyError(self.fails)
        return self.progress

    async def can_update_machine_set(self, *_: object) -> Sequence[str]:
        return []


async def with_updates(plane: Environment, updates: Updates) -> None:
    """Start anew, with an extension."""
    await plane.stop()
    plane.updates = updates
    plane.start()


async def patched(plane: Environment, resource: Resource, patch: Document) -> Document:
    document = await plane.client.patch(resource, Key("default", "m"), patch)
    await plane.settle(1)
    return document


async def says(plane: Environment) -> tuple[str, str, str]:
    result = condition(await found(plane), "Updating")
    return result.status, result.reason, result.message


async def test_extensions_are_called_after_all_writes_and_marks_are_removed_at_the_end(
    plane: Environment,
) -> None:
    await running(plane)
    updates = Updates(Progress(3600, "rewiring"))
    await with_updates(plane, updates)
    for resource, patch in (
        (Machine.RESOURCE, MARK),
        (Machine.RESOURCE, OWED),
        (INFRA_MACHINES, MARK),
    ):
        await patched(plane, resource, patch)
        assert await says(plane) == ("True", "InPlaceUpdating", "In-place update in progress")
        assert updates.asked == []
    await patched(plane, CONFIGS, MARK)
    machine = await found(plane)
    rewiring = "In-place update in progress: rewiring"
    assert await says(plane) == ("True", "InPlaceUpdating", rewiring)
    assert (machine.status.phase, condition(machine, "Ready").message) == (
        "Updating",
        f"* Updating: {rewiring}",
    )
    await plane.settle(600)
    assert len(updates.asked) == 1
    assert updates.asked[0].keys() == {"machine", "infrastructureMachine", "bootstrapConfig"}
    updates.fails = "the fuse is blown"
    await patched(plane, CONFIGS, {"spec": {"words": "other"}})  # that is another request
    failed = "UpdateMachine hook failed: the fuse is blown"
    assert await says(plane) == ("True", "InPlaceUpdateFailed", failed)
    updates.fails, updates.progress = "", Progress()
    await plane.settle(60)
    assert await says(plane) == ("False", "NotUpdating", "")
    machine = await found(plane)
    assert machine.status.phase == "Running"
    assert machine.metadata.annotations[Annotation.PENDING_HOOKS] == "Other"
    assert await marked(plane) == []


async def test_an_update_can_be_ended_by_hand_and_needs_its_machine(plane: Environment) -> None:
    await running(plane)
    updates = Updates(Progress(3600))
    await with_updates(plane, updates)
    for resource in (INFRA_MACHINES, CONFIGS, Machine.RESOURCE):
        await patched(plane, resource, MARK)
    await patched(plane, Machine.RESOURCE, OWED)
    assert len(updates.asked) == 1
    ended: Document = {"metadata": {"annotations": {Annotation.UPDATE_IN_PROGRESS: None}}}
    await patched(plane, Machine.RESOURCE, ended)
    assert await says(plane) == ("False", "NotUpdating", "")
    assert await marked(plane) == []
    await plane.client.delete(INFRA_MACHINES, Key("default", "m"))
    await patched(plane, Machine.RESOURCE, MARK)
    await patched(plane, Machine.RESOURCE, OWED)
    removal = "In-place update not possible: InfraMachine not found"
    assert await says(plane) == ("True", "InPlaceUpdateFailed", removal)
    assert len(updates.asked) == 1


async def marked(plane: Environment) -> list[str]:
    """The annotations that mark an in-place update as in progress, each with its object's name."""
    objects = [
        document
        for resource in (Machine.RESOURCE, MachineSet.RESOURCE, INFRA_MACHINES, CONFIGS)
        for document in await plane.all(resource)
    ]
    return [
        f"{obj['metadata']['name']} {name}"
        for obj in objects
        for name in obj["metadata"].get("annotations") or ()
        if name.startswith("in-place-updates.") or "UpdateMachine" in name
    ]


async def test_a_move_completes_with_a_restart_after_every_write(plane: Environment) -> None:
    rollout = {"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}}
    await started(plane, 2, rollout=rollout)
    await with_updates(plane, Updates())
    before = {machine.metadata.uid for machine in await plane.story.all(Machine)}
    await plane.create(of(INFRA_TEMPLATES, "large", spec={"template": {"spec": {"size": "large"}}}))
    spec = {"version": "v1.34.1", "infrastructureRef": {"name": "large"}}
    await plane.story.merge(MachineDeployment, "md", {"spec": {"template": {"spec": spec}}})
    for _ in range(48):
        await plane.kill_after(1)
    await plane.settle(60)
    machines = await plane.story.all(Machine)
    assert {machine.metadata.uid for machine in machines} == before
    assert {machine.spec.version for machine in machines} == {"v1.34.1"}
    assert {infra_machine["spec"]["size"] for infra_machine in await plane.all(INFRA_MACHINES)} == {
        "large"
    }
    assert (await sizes(plane))[-1] == 2
    assert sum(await sizes(plane)) == 2
    (newest,) = [
        machine_set
        for machine_set in await plane.story.all(MachineSet)
        if machine_set.spec.replicas
    ]
    unique = newest.metadata.labels[Label.MACHINE_TEMPLATE_HASH]
    assert {machine.metadata.labels[Label.MACHINE_TEMPLATE_HASH] for machine in machines} == {
        unique
    }
    assert await marked(plane) == []


async def test_the_last_progress_is_cached_for_the_same_update() -> None:
    progress_memo, key, progress = ProgressMemo(), Key("default", "m"), Progress(10, "on it")
    progress_memo.put(key, "this", progress)
    await asyncio.sleep(4)
    assert progress_memo.get(key, "this") == Progress(6, "on it")
    assert progress_memo.get(key, "that") is None
    await asyncio.sleep(6)
    assert progress_memo.get(key, "this") is None
    progress_memo.put(key, "this", Progress(1e-9, "less than a timer can tell"))
    assert progress_memo.get(key, "this") is None
    progress_memo.put(key, "this", progress)
    progress_memo.forget(key)
    assert progress_memo.get(key, "this") is None
