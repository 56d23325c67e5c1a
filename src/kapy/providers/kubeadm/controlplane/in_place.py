"""Updating a Machine in place: an extension changes it, and it stays.

Only where a Machine would go otherwise, and one at a time: should the update fail, there is nothing
lost that was not given up anyway. The mark on the Machine comes first, what its objects are to be
next (marked, too), and that the Machine is owed its update last: from the first write on it is gone
through with, also by a program that has been started anew.
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
from kapy.providers.kubeadm.controlplane.desired import MANAGER, new_kubeadm_config, renewed_machine
from kapy.providers.kubeadm.controlplane.preflight import is_sound, is_stable
from kapy.providers.kubeadm.controlplane.scope import ControlPlane
from kapy.providers.kubeadm.controlplane.tools import Tools
from kapy.providers.kubeadm.controlplane.updates import MachineUpdates
from kapy.providers.kubeadm.controlplane.uptodate import joining
from kapy.sdk import DONE, Draft, Result

_CLONED: Final = (Annotation.CLONED_FROM_NAME, Annotation.CLONED_FROM_GROUP_KIND)


class Undecided(KapyError):
    """It is unknown whether a Machine can be updated in place."""


class CannotComplete(KapyError):
    """An in-place update has begun, and an object that it needs is gone."""


@dataclass(frozen=True, slots=True)
class Objects:
    """A Machine and its objects. config: None if the Machine refers to none or it is gone.
    infrastructure: None if it is gone or was not cloned."""

    machine: Document
    infrastructure: Document | None
    config: Document | None


async def complete_updates(tools: Tools, plane: ControlPlane) -> Result | None:
    """Continue in-place updates that began and are not yet pending on the Machine. Raises
    CannotComplete."""
    begun = [
        draft
        for draft in plane.drafts
        if Annotation.UPDATE_IN_PROGRESS in draft.object.metadata.annotations
        and not is_update_pending(draft.object.metadata.annotations)
    ]
    for draft in begun:
        await _begin(tools, draft, await _wanted(tools, plane, draft.object))
    return DONE if begun else None


async def update_in_place(tools: Tools, plane: ControlPlane, machine: Machine) -> bool:
    """Begin to update a Machine that would go otherwise, or wait until that can be.

    False: it has to go, because it is not healthy itself, or no extension makes all of the change.
    Raises Undecided: who is deleted cannot be taken back.
    """
    updates, outdated = tools.updates, plane.outdated[machine.metadata.name]
    up_to_date = sum(not plane.is_outdated(one) for one in plane.machines)
    if updates is None or not outdated.may_be_updated or up_to_date >= plane.desired_replicas:
        return False
    if not is_stable(tools, plane, scale_up=False, leaving=machine):
        return True
    if not is_sound(plane, machine):
        return False
    draft = next(one for one in plane.drafts if one.object is machine)
    wanted = await _wanted(tools, plane, machine)
    if not await _decided(tools, plane, updates, draft, wanted):
        return False
    await _begin(tools, draft, wanted)
    return True


async def _decided(
    tools: Tools,
    plane: ControlPlane,
    updates: MachineUpdates,
    draft: Draft[Machine],
    wanted: Objects,
) -> bool:
    """As `_can_update`; what is not known is told in a condition. Raises Undecided."""
    try:
        return await _can_update(tools, plane, updates, draft, wanted)
    except KapyError as error:
        name = draft.object.metadata.name
        plane.undecided = f"failed to determine if Machine {name} can be updated in-place: {error}"
        raise Undecided(plane.undecided) from error


async def _wanted(tools: Tools, plane: ControlPlane, machine: Machine) -> Objects:
    """The Machine and its objects in their desired state."""
    kcp, cluster, name = plane.kcp, plane.cluster.metadata.name, machine.metadata.name
    infrastructure, config = plane.infrastructure.get(name), plane.configs.get(name)
    wanted = Objects(renewed_machine(kcp, cluster, machine), None, None)
    if infrastructure is not None and _is_cloned(infrastructure):
        metadata = infrastructure["metadata"]
        clone = await new_infrastructure(tools, plane, metadata["name"])
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
    tools: Tools,
    plane: ControlPlane,
    updates: MachineUpdates,
    draft: Draft[Machine],
    wanted: Objects,
) -> bool:
    """Whether an extension covers the whole change. Raises KapyError if that is unknown."""
    if wanted.infrastructure is None or wanted.config is None:
        return False
    name = draft.object.metadata.name
    has, wants = plane.infrastructure[name], wanted.infrastructure
    present = {**wants, "spec": has.get("spec") or {}}
    resource = await tools.external.resource_of(wants)
    client = tools.runtime.client
    try:
        before = await client.apply(resource, present, field_manager=MANAGER, dry_run=True)
        after = await client.apply(resource, wants, field_manager=MANAGER, dry_run=True)
    except (Forbidden, Invalid):
        return False  # what cannot be written cannot be updated
    machine = await client.apply(
        Machine.RESOURCE, wanted.machine, field_manager=MANAGER, dry_run=True
    )
    is_spec, wanted_spec = joining(plane.kcp, plane.configs[name])
    left = await updates.can_update_machine(
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
    return not left


async def _begin(tools: Tools, draft: Draft[Machine], wanted: Objects) -> None:
    """Write an update: the mark, the infrastructure (which is what is most likely refused), the
    KubeadmConfig, the Machine, and that it is owed."""
    machine, client = draft.object, tools.runtime.client
    machine.metadata.annotations[Annotation.UPDATE_IN_PROGRESS] = ""
    await draft.save_spec()
    if wanted.infrastructure is None or wanted.config is None:
        missing = "InfraMachine" if wanted.infrastructure is None else "KubeadmConfig"
        raise CannotComplete(
            f"failed to complete triggering in-place update for Machine {machine.key}, could not "
            f"compute desired {missing}; delete the Machine to have it replaced"
        )
    resource = await tools.external.resource_of(wanted.infrastructure)
    await client.apply(resource, _marked(wanted.infrastructure), field_manager=MANAGER)
    await _write_config(tools, wanted.config)
    await client.apply(Machine.RESOURCE, wanted.machine, field_manager=MANAGER)
    owed = pending_hooks_annotation(machine.metadata.annotations, owed=True)
    assert owed is not None
    machine.metadata.annotations[Annotation.PENDING_HOOKS] = owed
    await draft.save_spec()
    message = "Machine starting in-place update"
    tools.recorder.normal(machine, "SuccessfulStartInPlaceUpdate", message)


def _marked(wanted: Document) -> Document:
    """An object without the labels and annotations that another manager sees to all the time."""
    annotations = wanted["metadata"].get("annotations") or {}
    metadata = {key: one for key, one in wanted["metadata"].items() if key != "labels"}
    metadata["annotations"] = {
        Annotation.UPDATE_IN_PROGRESS: "",
        **{name: annotations[name] for name in _CLONED if name in annotations},
    }
    return {**wanted, "metadata": metadata}


async def _write_config(tools: Tools, wanted: Document) -> None:
    resource: Resource = KubeadmConfig.RESOURCE
    client = tools.runtime.client
    written = await client.apply(resource, _marked(wanted), field_manager=MANAGER)
    if written["spec"].get("initConfiguration"):
        # Of a KubeadmConfig from upstream before v1.12, where nobody owns it. The Machine will
        # never run init again, and is told by what it has.
        await client.patch(resource, Key.of(written), {"spec": {"initConfiguration": None}})
