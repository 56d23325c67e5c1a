"""Update Machines in place: an extension changes a Machine instead of its replacement.

Only a Machine that would be deleted otherwise is updated, one at a time. So a failed update costs
nothing that a replacement would not cost. The writes have an order: the annotation on the Machine
that the update is in progress, then the desired state of its objects, at last the pending hook.
After the first write the update is continued, also after a restart of the program.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from kapy.api.kubeadm_config import KubeadmConfig
from kapy.api.machine import Machine
from kapy.api.machines import is_update_pending, pending_hooks_annotation
from kapy.api.names import Annotation
from kapy.kube import Document, Key
from kapy.kube.errors import Forbidden, Invalid, KapyError
from kapy.kube.names import Resource
from kapy.providers.kubeadm.controlplane.creation import new_infrastructure
from kapy.providers.kubeadm.controlplane.dependencies import Dependencies, MachineUpdates
from kapy.providers.kubeadm.controlplane.desired import MANAGER, new_kubeadm_config, renewed_machine
from kapy.providers.kubeadm.controlplane.preflight import is_healthy, is_stable
from kapy.providers.kubeadm.controlplane.scope import ControlPlane
from kapy.providers.kubeadm.controlplane.uptodate import joining
from kapy.sdk import (
    DONE,
    Result,
)
from kapy.sdk.controllers import Draft

_CLONED: Final = (Annotation.CLONED_FROM_NAME, Annotation.CLONED_FROM_GROUP_KIND)


class Undecided(KapyError):
    """It is unknown whether a Machine can be updated in place."""


class CannotComplete(KapyError):
    """An in-place update has begun, and an object that it needs is gone."""


@dataclass(frozen=True, slots=True)
class DesiredObjects:
    """A Machine and its objects. config: None if the Machine refers to none or it is gone.
    infrastructure: None if it is gone or was not cloned."""

    machine: Document
    infrastructure: Document | None
    config: Document | None


async def complete_updates(dependencies: Dependencies, plane: ControlPlane) -> Result | None:
    """Continue in-place updates that began and are not yet pending on the Machine. Raises
    CannotComplete."""
    begun = [
        draft
        for draft in plane.drafts
        if Annotation.UPDATE_IN_PROGRESS in draft.object.metadata.annotations
        and not is_update_pending(draft.object.metadata.annotations)
    ]
    for draft in begun:
        await _begin(dependencies, draft, await _desired_objects(dependencies, plane, draft.object))
    return DONE if begun else None


async def update_in_place(
    dependencies: Dependencies, plane: ControlPlane, machine: Machine
) -> bool:
    """Begin to update an outdated Machine in place, or wait until that is allowed.

    Returns False if the Machine must be replaced instead: it is unhealthy, or no extension can make
    the whole change. Raises Undecided if that is unknown, because a deletion cannot be undone.
    """
    updates, outdated = dependencies.updates, plane.outdated[machine.metadata.name]
    up_to_date = sum(not plane.is_outdated(item) for item in plane.machines)
    if updates is None or not outdated.may_be_updated or up_to_date >= plane.desired_replicas:
        return False
    if not is_stable(dependencies, plane, scale_up=False, leaving=machine):
        return True
    if not is_healthy(plane, machine):
        return False
    draft = next(item for item in plane.drafts if item.object is machine)
    wanted = await _desired_objects(dependencies, plane, machine)
    if not await _decide(dependencies, plane, updates, draft, wanted):
        return False
    await _begin(dependencies, draft, wanted)
    return True


async def _decide(
    dependencies: Dependencies,
    plane: ControlPlane,
    updates: MachineUpdates,
    draft: Draft[Machine],
    wanted: DesiredObjects,
) -> bool:
    """Return the result of `_can_update`; report in a condition if it is unknown. Raises
    Undecided.
    """
    try:
        return await _can_update(dependencies, plane, updates, draft, wanted)
    except KapyError as error:
        name = draft.object.metadata.name
        plane.undecided = f"failed to determine if Machine {name} can be updated in-place: {error}"
        raise Undecided(plane.undecided) from error


async def _desired_objects(
    dependencies: Dependencies, plane: ControlPlane, machine: Machine
) -> DesiredObjects:
    """Return the Machine and its objects in their desired state."""
    kcp, cluster, name = plane.kcp, plane.cluster.metadata.name, machine.metadata.name
    infrastructure, config = plane.infrastructure.get(name), plane.configs.get(name)
    wanted = DesiredObjects(renewed_machine(kcp, cluster, machine), None, None)
    if infrastructure is not None and _is_cloned(infrastructure):
        metadata = infrastructure["metadata"]
        clone = await new_infrastructure(dependencies, plane, metadata["name"])
        clone["metadata"]["uid"] = metadata["uid"]
        wanted = replace(wanted, infrastructure=clone)
    if config is not None:
        intent = new_kubeadm_config(kcp, cluster, config.metadata.name, join=True)
        del intent["metadata"]["ownerReferences"]  # the Machine owns it
        intent["metadata"]["uid"] = config.metadata.uid
        wanted = replace(wanted, config=intent)
    return wanted


def _is_cloned(infrastructure: Document) -> bool:
    return {*_CLONED} <= (infrastructure["metadata"].get("annotations") or {}).keys()


async def _can_update(
    dependencies: Dependencies,
    plane: ControlPlane,
    updates: MachineUpdates,
    draft: Draft[Machine],
    wanted: DesiredObjects,
) -> bool:
    """Return whether an extension covers the whole change. Raises KapyError if that is unknown."""
    if wanted.infrastructure is None or wanted.config is None:
        return False
    name = draft.object.metadata.name
    has, wants = plane.infrastructure[name], wanted.infrastructure
    present = {**wants, "spec": has.get("spec") or {}}
    resource = await dependencies.external.resource_of(wants)
    client = dependencies.runtime.client
    try:
        before = await client.apply(resource, present, field_manager=MANAGER, dry_run=True)
        after = await client.apply(resource, wants, field_manager=MANAGER, dry_run=True)
    except (Forbidden, Invalid):
        return False  # if the dry run is refused, the update is impossible
    machine = await client.apply(
        Machine.RESOURCE, wanted.machine, field_manager=MANAGER, dry_run=True
    )
    is_spec, wanted_spec = joining(plane.kcp, plane.configs[name])
    uncovered = await updates.can_update_machine(
        plane.kcp.key,
        {
            "machine": draft.before,
            "infrastructureMachine": before,
            "bootstrapConfig": {**wanted.config, "spec": is_spec},
        },
        {
            "machine": machine,
            "infrastructureMachine": after,
            "bootstrapConfig": {**wanted.config, "spec": wanted_spec},
        },
    )
    return not uncovered


async def _begin(dependencies: Dependencies, draft: Draft[Machine], wanted: DesiredObjects) -> None:
    """Write an update in this order: the annotation on the Machine, the infrastructure (most likely
    to be refused), the KubeadmConfig, the Machine, and the pending hook."""
    machine, client = draft.object, dependencies.runtime.client
    machine.metadata.annotations[Annotation.UPDATE_IN_PROGRESS] = ""
    await draft.save_spec()
    if wanted.infrastructure is None or wanted.config is None:
        missing = "InfraMachine" if wanted.infrastructure is None else "KubeadmConfig"
        raise CannotComplete(
            f"failed to complete triggering in-place update for Machine {machine.key}, could not "
            f"compute desired {missing}; delete the Machine to have it replaced"
        )
    resource = await dependencies.external.resource_of(wanted.infrastructure)
    await client.apply(resource, _mark_in_progress(wanted.infrastructure), field_manager=MANAGER)
    await _write_config(dependencies, wanted.config)
    await client.apply(Machine.RESOURCE, wanted.machine, field_manager=MANAGER)
    owed = pending_hooks_annotation(machine.metadata.annotations, owed=True)
    assert owed is not None
    machine.metadata.annotations[Annotation.PENDING_HOOKS] = owed
    await draft.save_spec()
    message = "Machine starting in-place update"
    dependencies.recorder.normal(machine, "SuccessfulStartInPlaceUpdate", message)


def _mark_in_progress(wanted: Document) -> Document:
    """Return an object marked as updating, without the labels and annotations that belong to the
    metadata manager.
    """
    annotations = wanted["metadata"].get("annotations") or {}
    metadata = {key: value for key, value in wanted["metadata"].items() if key != "labels"}
    metadata["annotations"] = {
        Annotation.UPDATE_IN_PROGRESS: "",
        **{name: annotations[name] for name in _CLONED if name in annotations},
    }
    return {**wanted, "metadata": metadata}


async def _write_config(dependencies: Dependencies, wanted: Document) -> None:
    resource: Resource = KubeadmConfig.RESOURCE
    client = dependencies.runtime.client
    written = await client.apply(resource, _mark_in_progress(wanted), field_manager=MANAGER)
    if written["spec"].get("initConfiguration"):
        # Remove the fields that upstream before v1.12 left in a KubeadmConfig without an owner. The
        # Machine never runs init again, so they have no meaning.
        await client.patch(resource, Key.of(written), {"spec": {"initConfiguration": None}})
