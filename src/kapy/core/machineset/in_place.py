"""Update Machines in place by moving them from an old set to the new one.

On request an old set hands its marked Machines over to the set with the current template (if that
one accepts them). The MachineDeployment counts them there. Only then the new set writes the desired
state of the Machines and their objects, and finally marks the hook UpdateMachine as pending.
"""

from __future__ import annotations

from kapy.api.embedded import ContractVersionedObjectReference
from kapy.api.machine import Machine
from kapy.api.machine_set import MachineSet
from kapy.api.machines import is_update_pending, is_updating_in_place, pending_hooks_annotation
from kapy.api.names import Annotation, Label
from kapy.conditions.machines import is_to_be_remediated
from kapy.contract.fields import View
from kapy.contract.observed import Absent, Unreadable
from kapy.contract.templates import clone_template
from kapy.core.machineset.creation import template_of
from kapy.core.machineset.desired import (
    MANAGER,
    machine_annotations,
    machine_labels,
    renew_machine,
)
from kapy.core.machineset.machines import delete_machine, deletion_order
from kapy.core.machineset.scope import MachineSetScope
from kapy.engine.draft import Draft
from kapy.engine.result import DONE, NotYet, Result
from kapy.kube import Key
from kapy.kube.errors import KapyError
from kapy.kube.meta import owner_reference, read


class CannotMove(KapyError):
    """The annotations of two MachineSets about a move contradict each other."""


def uncounted_machines(scope: MachineSetScope) -> list[Machine]:
    """Return the moved Machines that the MachineDeployment has not counted yet."""
    if not scope.machine_set.metadata.annotations.get(
        Annotation.RECEIVE_MACHINES_FROM_MACHINE_SETS
    ):
        return []
    return [
        machine
        for machine in scope.aggregation_input.noteworthy
        if Annotation.PENDING_ACKNOWLEDGE_MOVE in machine.metadata.annotations
    ]


async def begin_updates(scope: MachineSetScope) -> Result:
    """Write the desired state of moved Machines and mark their update as pending; a failure of one
    does not stop the others.
    """
    waiting = {item.metadata.name for item in uncounted_machines(scope)} - _counted_names(
        scope.machine_set
    )
    failures: list[Exception] = []
    for machine in tuple(scope.aggregation_input.noteworthy):
        annotations = machine.metadata.annotations
        if Annotation.UPDATE_IN_PROGRESS not in annotations or is_update_pending(annotations):
            continue
        if machine.metadata.name in waiting:
            continue
        try:
            await _begin(scope, machine)
        except KapyError as error:
            failures.append(error)
    if failures:
        raise ExceptionGroup("failed to trigger in-place update", failures)
    return DONE


def _counted_names(machine_set: MachineSet) -> set[str]:
    return {*machine_set.metadata.annotations.get(Annotation.ACKNOWLEDGED_MOVE, "").split(",")}


async def _begin(scope: MachineSetScope, machine: Machine) -> None:
    """Begin the in-place update of a Machine: write its objects, the infrastructure first, since
    the server is most likely to refuse that one.
    """
    template, dependencies = scope.machine_set.spec.template.spec, scope.dependencies
    await _renew(scope, machine, machine.spec.infrastructure_ref, template.infrastructure_ref)
    config = machine.spec.bootstrap.config_ref
    if config is not None:
        await _renew(scope, machine, config, template.bootstrap.config_ref)
    intent = renew_machine(scope.machine_set, machine)
    await dependencies.client.apply(Machine.RESOURCE, intent, field_manager=MANAGER)
    annotations = {
        Annotation.PENDING_ACKNOWLEDGE_MOVE: None,
        Annotation.PENDING_HOOKS: pending_hooks_annotation(machine.metadata.annotations, owed=True),
    }
    patch = {"metadata": {"annotations": annotations}}
    scope.update_machine(await dependencies.client.patch(Machine.RESOURCE, machine.key, patch))
    dependencies.events.normal(
        machine, "SuccessfulStartInPlaceUpdate", "Machine starting in-place update"
    )


async def _renew(
    scope: MachineSetScope,
    machine: Machine,
    ref: ContractVersionedObjectReference,
    desired: ContractVersionedObjectReference | None,
) -> None:
    """Update an object of a Machine to the state that a new clone of the template would have."""
    dependencies, machine_set = scope.dependencies, scope.machine_set
    result = await dependencies.external.get(ref, scope.namespace, View)
    if isinstance(result, Unreadable):
        raise result.error
    if isinstance(result, Absent) or desired is None:
        what = f"{ref.kind} {ref.name}" if isinstance(result, Absent) else "its template"
        raise NotYet(f"cannot update Machine {machine.metadata.name}: {what} does not exist")
    template = await template_of(scope, desired)
    clone = clone_template(
        template.document,
        name=ref.name,
        namespace=scope.namespace,
        cluster_name=machine_set.spec.cluster_name,
        labels=machine_labels(machine_set),
        annotations=machine_annotations(machine_set) | {Annotation.UPDATE_IN_PROGRESS: ""},
    )
    clone["metadata"]["uid"] = result.view.document["metadata"]["uid"]
    resource = await dependencies.external.resource_of(clone)
    await dependencies.client.apply(resource, clone, field_manager=MANAGER)


async def move_machines(scope: MachineSetScope, to: str, count: int) -> None:
    """Move `count` Machines to another set, which updates them.

    Machines to be remediated are deleted instead. Machines in deletion, starting or updating stay,
    and those in deletion count. Raises CannotMove.
    """
    target = _target(scope, to)
    machine_set, failures = scope.machine_set, list[Exception]()
    order = machine_set.spec.deletion.order
    for machine in deletion_order(scope.machines or [], order, scope.now):
        if count <= 0:
            break
        if not (machine.deleting or is_to_be_remediated(machine)) and not _is_movable(machine):
            continue
        count -= 1
        if machine.deleting:
            continue
        try:
            await _move_or_delete(scope, machine, target)
        except KapyError as error:
            failures.append(error)
    if failures:
        raise ExceptionGroup(f"failed to move Machines to MachineSet {to}", failures)


def _target(scope: MachineSetScope, name: str) -> MachineSet:
    mine = scope.machine_set.metadata.name
    document = scope.dependencies.fleet.machine_sets.raw(Key(scope.namespace, name))
    if document is None:
        raise NotYet(f"failed to get MachineSet {name}, which is the target for the move operation")
    target = read(document, MachineSet)
    accepted = target.metadata.annotations.get(Annotation.RECEIVE_MACHINES_FROM_MACHINE_SETS, "")
    if mine not in accepted.split(","):
        raise CannotMove(
            f"MachineSet {mine} is set to move replicas to {name}, but {name} only accepts "
            f"Machines from {accepted or 'nobody'}"
        )
    if Label.MACHINE_TEMPLATE_HASH not in target.metadata.labels:
        raise CannotMove(f"MachineSet {name} does not have the {Label.MACHINE_TEMPLATE_HASH} label")
    return target


def _is_movable(machine: Machine) -> bool:
    return machine.status.node_ref is not None and not is_updating_in_place(machine)


async def _move_or_delete(scope: MachineSetScope, machine: Machine, target: MachineSet) -> None:
    name = machine.metadata.name
    if is_to_be_remediated(machine):
        await delete_machine(scope, machine)
        message = f'Deleted Machine "{name}"'
        scope.dependencies.events.normal(scope.machine_set, "SuccessfulDelete", message)
        return
    draft = Draft(scope.dependencies.client, Machine, scope.documents[name])
    metadata = draft.object.metadata
    mine, theirs = scope.machine_set.metadata.uid, owner_reference(target, controller=True)
    metadata.owner_references = [
        theirs if reference.uid == mine else reference for reference in metadata.owner_references
    ]
    unique = Label.MACHINE_TEMPLATE_HASH
    metadata.labels[unique] = target.metadata.labels[unique]
    metadata.annotations[Annotation.UPDATE_IN_PROGRESS] = ""
    metadata.annotations[Annotation.PENDING_ACKNOWLEDGE_MOVE] = ""
    await draft.save_spec()
    scope.drop_machine(name)
