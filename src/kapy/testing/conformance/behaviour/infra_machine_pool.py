"""What pools' infrastructure is asked for beyond what all kinds are."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Final

from kapy.api.machine_pool import MachinePool
from kapy.kube import Document
from kapy.testing.conformance.behaviour import every_part, stage
from kapy.testing.conformance.behaviour.check import Check
from kapy.testing.conformance.errors import CannotRun, NotApplicable
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.scene import NAME, Scene
from kapy.testing.conformance.subject import Kind

WANTED: Final = (2, 3, 1)
"""How many machines are wanted, one after the other."""


async def provider_ids(scene: Scene) -> AsyncIterator[Finding]:
    """The list has one ID for each machine, while their number changes."""
    await stage.whole(scene)
    await stage.done(scene)
    for wanted in WANTED:
        await _scale(scene, wanted)
        found = await scene.reached(_has(scene, wanted))
        if found is None:
            count = _count(scene, await scene.read() or {})
            evidence = f"{wanted} replicas are wanted, and it has {count} provider IDs"
            mend = "keep one provider ID for each machine that is there"
            yield scene.fault("spec.providerIDList", evidence, mend)
            return
        ids = stage.value(scene, found, "provider_id_list")
        if len(set(ids)) < wanted:
            evidence, mend = f"the IDs are {', '.join(ids)}", "give each machine an ID of its own"
            yield scene.fault("spec.providerIDList", evidence, mend)
            return


async def machines(scene: Scene) -> AsyncIterator[Finding]:
    """There is an object for each machine, which comes and goes with it."""
    await stage.whole(scene)
    await stage.done(scene)
    kind = await _kind_of_machines(scene)
    for wanted in WANTED:
        await _scale(scene, wanted)
        await scene.reached(_has(scene, wanted))
        await scene.quiet()
        found = await _objects(scene, kind)
        if len(found) != wanted:
            yield scene.fault(
                "status.infrastructureMachineKind",
                f"{wanted} machines are wanted, and there are {len(found)} objects of the kind "
                f"{kind.resource.kind}",
                "make an object for each machine, and delete it with the machine",
            )
            return


async def _kind_of_machines(scene: Scene) -> Kind:
    told = stage.value(scene, await scene.read() or {}, "infrastructure_machine_kind")
    if not told:
        raise NotApplicable("status.infrastructureMachineKind names none")
    kinds = scene.world.subject.of("infra-machine")
    found = next((one for one in kinds if one.resource.kind == told), None)
    if found is None:
        raise CannotRun(f"{told}, of which the pool's machines are, is not among the kinds checked")
    return found


async def _scale(scene: Scene, wanted: int) -> None:
    await scene.patch({"spec": {"replicas": wanted}}, NAME, MachinePool.RESOURCE)


def _has(scene: Scene, wanted: int) -> Callable[[Document], bool]:
    return lambda one: _count(scene, one) == wanted


def _count(scene: Scene, document: Document) -> int:
    return len(stage.value(scene, document, "provider_id_list") or ())


async def _objects(scene: Scene, kind: Kind) -> list[Document]:
    found = await scene.client.list(kind.resource, scene.namespace)
    return [one for one in found.items if not one["metadata"].get("deletionTimestamp")]


CHECKS: Final = (
    *every_part.checks("infra-machinepool"),
    Check("infra-machinepool/provider-ids", provider_ids),
    Check("infra-machinepool/machines", machines),
)
