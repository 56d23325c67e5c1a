"""A Cluster is moved to another management cluster, by kapy's own `move`.

Done in stage 2, when the provider does not run: it is started on the first API server, ended, and
started on the second one when everything is there.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.client.client import Client
from kapy.clusterctl.errors import ClusterctlError
from kapy.clusterctl.move.journal import Mode, Place
from kapy.clusterctl.move.operation import begun, journal_of, operation
from kapy.clusterctl.move.refusals import identity
from kapy.clusterctl.move.tell import silent
from kapy.kube import Document, Key
from kapy.testing.conformance.behaviour import belonging, stage
from kapy.testing.conformance.clearing import clear
from kapy.testing.conformance.errors import CannotRun, NotApplicable
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.heard import Write
from kapy.testing.conformance.scene import Scene, quoted
from kapy.testing.conformance.subject import Limits

_INITIALIZED: Final = {
    "type": "ControlPlaneInitialized",
    "status": "True",
    "reason": "Initialized",
    "message": "",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}


@dataclass(frozen=True)
class Moved:
    """What came of it.

    while_paused: what the provider wrote before it was ended. before, after: the objects in the
    source, and those in the target whose flag was set again, by name. scenes: of the objects that
    moved, by name. refused: why there was no move.
    """

    while_paused: Sequence[Write] = ()
    before: Mapping[str, Document] = field(default_factory=dict)
    after: Mapping[str, Document] = field(default_factory=dict)
    scenes: Mapping[str, Scene] = field(default_factory=dict)
    refused: str = ""


async def move(scene: Scene) -> AsyncIterator[Finding]:
    """Paused Clusters are left alone, and all objects live on elsewhere."""
    found = await _once(scene)
    if found.refused:
        yield scene.fault("", found.refused, "see to owners and labels of objects")
        return
    if found.while_paused:
        evidence = f"the Cluster is paused, and yet: {quoted(list(found.while_paused))}"
        yield scene.fault("spec.paused", evidence, "do nothing while the Cluster is paused")
    for name, (was, became) in _changed_ids(found).items():
        evidence = f"it was {was} before the move, and is {became} after it"
        mend = "find what is there by what the object's names and spec tell"
        yield scene.fault("spec.providerID", evidence, mend, name)


async def status(scene: Scene) -> AsyncIterator[Finding]:
    """What stood in a status is found out again."""
    found = await _once(scene)
    if found.refused:
        raise CannotRun(f"there was no move: {found.refused}")
    for name, inner in found.scenes.items():
        if name not in found.after:
            yield inner.fault(
                stage.flag(inner),
                "it was set before the move, which leaves status behind, and was not set again in "
                f"{scene.patience.within:g} seconds",
                "find out what is there from the infrastructure, not from status",
                name,
            )


async def _once(scene: Scene) -> Moved:
    """One move for both rules."""
    if scene.kind.role not in stage.PARTS:
        raise NotApplicable(belonging.NO_PART)
    world = scene.world
    async with world.turn:
        if world.moved is None:
            world.moved = await _moved(scene)
    assert isinstance(world.moved, Moved)
    return world.moved


async def _moved(scene: Scene) -> Moved:
    world, subject = scene.world, scene.world.subject
    async with subject.way.running(world.ground, Limits()):
        scenes = await belonging.everything(scene)
        before = {name: await one.read(name) or {} for name, one in scenes.items()}
        await scene.quiet()
        await _pause(scene, paused=True)
        await scene.quiet()
        since = scene.mark()
        await scene.quiet()
        while_paused = scene.writes(since)
        await _pause(scene, paused=False)
    await _make_ready(scene.client, scene)
    async with world.another() as target:
        try:
            await _carry(scene.client, target.client, scene.namespace)
        except ClusterctlError as error:
            return Moved(refused=str(error))
        there = await target.scene(scene.kind, scene.namespace, scene.cluster)
        await _make_ready(target.client, there)
        async with subject.way.running(target.ground, Limits()):
            after = await _done_again(there)
            await clear(target, (there.namespace,))
    return Moved(while_paused, before, after, scenes)


async def _pause(scene: Scene, *, paused: bool) -> None:
    patch: Document = {"spec": {"paused": paused or None}}
    await scene.patch(patch, scene.cluster, Cluster.RESOURCE)


async def _make_ready(client: Client, scene: Scene) -> None:
    """What core would say, and `move` asks for."""
    ready = {
        "initialization": {"infrastructureProvisioned": True, "controlPlaneInitialized": True},
        "conditions": [_INITIALIZED],
    }
    cluster = scene.key(scene.cluster)
    await client.patch(Cluster.RESOURCE, cluster, {"status": ready}, subresource="status")
    for machine in (await client.list(Machine.RESOURCE, scene.namespace)).items:
        node = {"status": {"nodeRef": {"name": machine["metadata"]["name"]}}}
        await client.patch(Machine.RESOURCE, Key.of(machine), node, subresource="status")


async def _carry(source: Client, target: Client, namespace: str) -> None:
    """`kapy move`. Raises ClusterctlError."""
    places = [Place(identity=await identity(one)) for one in (source, target)]
    going = begun(Mode.CLUSTERS, namespace, *places)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "move.jsonl"
        journal = await journal_of(going, source, target, path, silent)
        await operation(journal, source, target, silent).go_on()


async def _done_again(scene: Scene) -> dict[str, Document]:
    """The objects whose flag is set again, by name."""
    after: dict[str, Document] = {}
    for name, inner in belonging.of_kinds(scene).items():
        document = await inner.reached(partial(stage.is_done, inner), name)
        if document is not None:
            after[name] = document
    return after


def _changed_ids(found: Moved) -> dict[str, tuple[Any, Any]]:
    changed = {}
    for name, after in found.after.items():
        was, became = (
            (one.get("spec") or {}).get("providerID") for one in (found.before[name], after)
        )
        if was != became:
            changed[name] = (was, became)
    return changed
