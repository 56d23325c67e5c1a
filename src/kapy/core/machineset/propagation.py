"""Phase: propagate in-place mutable changes of a MachineSet's template to its Machines.

Machines are applied completely; for their clones only labels and annotations are applied, with a
separate field manager. Nothing is sent if nothing would change.
"""

from __future__ import annotations

from collections import Counter
from typing import Final, TypeAlias

from msgspec import json, structs

from kapy.api.embedded import ContractVersionedObjectReference
from kapy.api.machine import Machine, MachineSpec
from kapy.api.names import Label
from kapy.contract.fields import View
from kapy.contract.observed import Absent, Unreadable
from kapy.core.machineset.desired import (
    MANAGER,
    METADATA_MANAGER,
    metadata_intent,
    update_machine,
)
from kapy.core.machineset.machines import references
from kapy.core.machineset.scope import CloneKey, MachineSetScope, SyncedMachine
from kapy.engine.result import DONE, NotYet, Result
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError
from kapy.kube.model import encode
from kapy.kube.names import GroupKind
from kapy.kube.patch.merge_patch import difference

PARTS: Final = ("labels", "annotations")
Names: TypeAlias = dict[str, set[str]]


async def propagate(scope: MachineSetScope) -> Result:
    """Sync every Machine and its clones with the template."""
    cache, template, documents = scope.cache, _template(scope), scope.documents
    if cache.template != template:
        cache.template = template
        cache.synced.clear()
    synced, spared = cache.synced, Counter[tuple[str, ...]]()
    failures: list[Exception] = []
    for machine in tuple(scope.machines or ()):
        metadata = machine.metadata
        state = synced.get(metadata.uid)
        if state is not None and state.machine is documents[metadata.name]:
            spared[state.kinds] += 1
            continue
        try:
            await _sync_and_remember(scope, machine)
        except KapyError as error:
            failures.append(error)  # an error of one Machine must not stop the others
    if len(synced) > len(documents):  # some are gone
        present = {machine.metadata.uid for machine in scope.machines or ()}
        for uid in synced.keys() - present:
            del synced[uid]
    for kinds, count in spared.items():
        scope.dependencies.applied.hits.update(dict.fromkeys(kinds, count))
    if failures:
        raise ExceptionGroup("failed to bring Machines in line with the template", failures)
    return DONE


def _template(scope: MachineSetScope) -> bytes:
    """Return the fields of the MachineSet that are propagated."""
    machine_set = scope.machine_set
    deployment = machine_set.metadata.labels.get(Label.DEPLOYMENT_NAME)
    return json.encode((machine_set.spec.template, deployment))


async def _sync_and_remember(scope: MachineSetScope, machine: Machine) -> None:
    cache, uid = scope.cache, machine.metadata.uid
    clones = await _clones(scope, machine)
    scope.dependencies.clone_changes.follow(cache, uid, clones)
    await _sync_machine(scope, machine)
    if len(clones) < len(references(machine)):
        return
    if all(cache.clones.get(clone) == uid for clone in clones):  # none was changed meanwhile
        kinds = Machine.RESOURCE.kind, *(resource.kind for resource, _ in clones)
        cache.synced[uid] = SyncedMachine(scope.documents[machine.metadata.name], kinds)


async def _clones(scope: MachineSetScope, machine: Machine) -> list[CloneKey]:
    """Return the clones of a Machine that are cached."""
    clones = []
    for ref in references(machine):
        try:
            kind = GroupKind(ref.api_group, ref.kind)
            resource = (await scope.dependencies.external.resolve(kind)).resource
        except KapyError:
            continue  # the comparison reports it
        clone = resource, Key(scope.namespace, ref.name)
        if scope.dependencies.cache.informer(resource).raw(clone[1]) is not None:
            clones.append(clone)
    return clones


async def _sync_machine(scope: MachineSetScope, machine: Machine) -> None:
    if machine.deleting:
        await _sync_deletion_fields(scope, machine)
        return
    for ref in references(machine):
        await _propagate_to(scope, machine, ref)
    # The Machine last: until then it shows which metadata its clones have.
    document = scope.documents[machine.metadata.name]
    intent = update_machine(scope.machine_set, machine)
    if not scope.dependencies.applied.is_no_op(document, intent, MANAGER):
        scope.update_machine(
            await scope.dependencies.client.apply(Machine.RESOURCE, intent, field_manager=MANAGER)
        )


async def _sync_deletion_fields(scope: MachineSetScope, machine: Machine) -> None:
    """Update only the fields that a Machine in deletion depends on."""
    wanted, before = scope.machine_set.spec.template.spec, _subset(machine.spec)
    timeout = wanted.deletion.node_deletion_timeout_seconds
    after = structs.replace(
        before,
        readiness_gates=wanted.readiness_gates,
        deletion=structs.replace(
            wanted.deletion, node_deletion_timeout_seconds=10 if timeout is None else timeout
        ),
        min_ready_seconds=wanted.min_ready_seconds,
        taints=wanted.taints,
    )
    if patch := difference(encode(before), encode(after)):
        await scope.dependencies.client.patch(Machine.RESOURCE, machine.key, {"spec": patch})


def _subset(spec: MachineSpec) -> MachineSpec:
    return MachineSpec(
        cluster_name=spec.cluster_name,
        bootstrap=spec.bootstrap,
        infrastructure_ref=spec.infrastructure_ref,
        readiness_gates=spec.readiness_gates,
        deletion=spec.deletion,
        min_ready_seconds=spec.min_ready_seconds,
        taints=spec.taints,
    )


async def _propagate_to(
    scope: MachineSetScope, machine: Machine, ref: ContractVersionedObjectReference
) -> None:
    dependencies, owner = scope.dependencies, scope.documents[machine.metadata.name]
    result = await dependencies.external.get(ref, scope.namespace, View)
    if isinstance(result, Unreadable):
        raise result.error
    if isinstance(result, Absent):
        name = machine.metadata.name
        raise NotYet(f"{ref.kind} {ref.name} of Machine {name} does not exist")
    document = result.view.document
    wanted = metadata_intent(scope.machine_set, document)["metadata"]
    outdated = _present_names(document, _unwanted_names(owner, wanted, MANAGER))
    unwanted = _unwanted_names(document, wanted, METADATA_MANAGER)
    as_wanted = not outdated and not unwanted and _has(document["metadata"], wanted)
    (dependencies.applied.hits if as_wanted else dependencies.applied.misses)[ref.kind] += 1
    if as_wanted:
        return
    resource = await dependencies.external.resource_of(document)
    intent = metadata_intent(scope.machine_set, document)
    document = await dependencies.client.apply(resource, intent, field_manager=METADATA_MANAGER)
    if outdated := _present_names(document, outdated):
        # Names set at creation belong to the creating manager, which the apply above does not
        # change.
        patch = {part: dict.fromkeys(names) for part, names in outdated.items()}
        await dependencies.client.patch(resource, Key.of(document), {"metadata": patch})


def _has(metadata: Document, desired: Document) -> bool:
    """Return whether all wanted labels and annotations are set."""
    return all(
        (metadata.get(part) or {}).get(name) == value
        for part in PARTS
        for name, value in (desired.get(part) or {}).items()
    )


def _unwanted_names(document: Document, desired: Document, manager: str) -> Names:
    """Return labels and annotations that the manager applied and that are no longer wanted."""
    unwanted: Names = {}
    for entry in document["metadata"].get("managedFields") or ():
        if entry.get("manager") != manager or entry.get("operation") != "Apply":
            continue
        fields = (entry.get("fieldsV1") or {}).get("f:metadata") or {}
        for part in PARTS:
            names = {path.removeprefix("f:") for path in fields.get(f"f:{part}") or {}}
            unwanted[part] = names - {"."} - (desired.get(part) or {}).keys()
    return {part: names for part, names in unwanted.items() if names}


def _present_names(document: Document, names: Names) -> Names:
    """Return the labels and annotations with these names that the object has."""
    metadata = document["metadata"]
    present = {part: some & (metadata.get(part) or {}).keys() for part, some in names.items()}
    return {part: some for part, some in present.items() if some}
