"""Phase: as many Machines as `spec.replicas` says.

A Machine is made last, after the objects that are cloned for it. Clones without a Machine are
what an attempt that was cut short left behind: their names are used first, so that a lost answer
never makes a second Machine; what is not needed is deleted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from kapy.api.embedded import ContractVersionedObjectReference
from kapy.api.machine import Machine
from kapy.api.names import Annotation
from kapy.contract.observed import Absent, Found, Unreadable
from kapy.contract.templates import SUFFIX, Template, cloned
from kapy.core.machineset.deletion_order import deletion_order
from kapy.core.machineset.desired import (
    MANAGER,
    machine_annotations,
    machine_labels,
    machine_name,
    new_machine,
)
from kapy.core.machineset.machines import delete_machine
from kapy.core.machineset.preflight import obstacles
from kapy.core.machineset.scope import MachineSetScope
from kapy.engine.cache import Informer
from kapy.engine.failure import NotYet
from kapy.engine.result import DONE, Result
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError, NotFound
from kapy.kube.meta import owner_reference
from kapy.kube.names import GroupKind, Resource

BY_OWNER: Final = "owner"


class NoReplicas(KapyError):
    """`spec.replicas` is not set; admission always sets it."""


async def reconcile_replicas(scope: MachineSetScope) -> Result:
    """Make the Machines that are missing, or delete those that are too many."""
    machine_set, machines = scope.machine_set, scope.machines
    if machines is None:
        return DONE
    if machine_set.spec.replicas is None:
        raise NoReplicas(f"spec.replicas of MachineSet {machine_set.key} is not set")
    left_behind = await _left_behind(scope)
    missing = machine_set.spec.replicas - len(machines)
    if missing > 0 and not _creation_disabled(scope):
        return await _create(scope, missing, left_behind)
    for resource, document in left_behind:
        await _delete(scope, resource, document)
    if missing < 0:
        await _shrink(scope, -missing)
    return DONE


def _creation_disabled(scope: MachineSetScope) -> bool:
    annotations = scope.machine_set.metadata.annotations
    return annotations.get(Annotation.DISABLE_MACHINE_CREATE) == "true"


Clone = tuple[Resource, Document]


async def _left_behind(scope: MachineSetScope) -> list[Clone]:
    """Clones that the set still owns itself: no Machine has taken them over."""
    spec, found = scope.machine_set.spec.template.spec, list[Clone]()
    for ref in (spec.infrastructure_ref, spec.bootstrap.config_ref):
        if ref is None or not ref.kind.endswith(SUFFIX):
            continue
        kind = GroupKind(ref.api_group, ref.kind.removesuffix(SUFFIX))
        resource = (await scope.tools.external.resolve(kind)).resource
        informer = _watched(scope, resource)
        for document in informer.indexed(BY_OWNER, scope.machine_set.metadata.uid):
            if not document["metadata"].get("deletionTimestamp"):
                found.append((resource, document))
    in_use = {
        (ref.kind, ref.name)
        for machine in scope.machines or ()
        for ref in (machine.spec.infrastructure_ref, machine.spec.bootstrap.config_ref)
        if ref is not None
    }
    return [one for one in found if (one[0].kind, one[1]["metadata"]["name"]) not in in_use]


def _watched(scope: MachineSetScope, resource: Resource) -> Informer[Document]:
    informer = scope.tools.cache.informer(resource)
    informer.add_index(BY_OWNER, _owning_sets)
    if not informer.is_synced:
        raise NotYet(f"the {resource.plural} are not read yet")
    return informer


def _owning_sets(document: Document) -> Iterable[str]:
    owners = document["metadata"].get("ownerReferences") or ()
    return [owner["uid"] for owner in owners if owner["kind"] == "MachineSet"]


async def _create(scope: MachineSetScope, count: int, left_behind: Sequence[Clone]) -> Result:
    scope.blocked = await obstacles(scope)
    if scope.blocked:
        return DONE  # a change of the control plane wakes us
    templates = await _templates(scope)
    for name in _names(scope, count, left_behind):
        await _create_one(scope, name, templates)
    return DONE


def _names(scope: MachineSetScope, count: int, left_behind: Sequence[Clone]) -> list[str]:
    """Names begun before, then new ones: the same until the MachineSet is written again."""
    machine_set, taken = scope.machine_set, set(scope.documents)
    names = sorted({one["metadata"]["name"] for _, one in left_behind} - taken)[:count]
    attempt, version = 0, scope.draft.before["metadata"]["resourceVersion"]
    while len(names) < count:
        name = machine_name(machine_set, version, attempt)
        attempt += 1
        if name not in taken and name not in names:
            names.append(name)
    return names


Templates = dict[str, Template]
INFRASTRUCTURE: Final = "infrastructure"
BOOTSTRAP: Final = "bootstrap"


async def _templates(scope: MachineSetScope) -> Templates:
    spec = scope.machine_set.spec.template.spec
    templates = {INFRASTRUCTURE: await _template(scope, spec.infrastructure_ref)}
    if spec.bootstrap.config_ref is not None:
        templates[BOOTSTRAP] = await _template(scope, spec.bootstrap.config_ref)
    return templates


async def _template(scope: MachineSetScope, ref: ContractVersionedObjectReference) -> Template:
    found = await scope.tools.external.get(ref, scope.namespace, Template)
    match found:
        case Found(template):
            return template
        case Unreadable(error):
            raise error
        case Absent():
            raise NotYet(f"{ref.kind} {scope.namespace}/{ref.name} does not exist")


async def _create_one(scope: MachineSetScope, name: str, templates: Templates) -> None:
    machine_set, tools = scope.machine_set, scope.tools
    bootstrap = None
    if BOOTSTRAP in templates:
        bootstrap = await _clone(scope, name, templates[BOOTSTRAP])
    infrastructure = await _clone(scope, name, templates[INFRASTRUCTURE])
    machine = new_machine(machine_set, name, bootstrap=bootstrap, infrastructure=infrastructure)
    await tools.client.apply(Machine.RESOURCE, machine, field_manager=MANAGER)
    tools.events.normal(machine_set, "SuccessfulCreate", f'Created Machine "{name}"')


async def _clone(scope: MachineSetScope, name: str, template: Template) -> Document:
    """Clone a template; returns the reference to the clone."""
    machine_set, tools = scope.machine_set, scope.tools
    clone = cloned(
        template.document,
        name=name,
        namespace=scope.namespace,
        cluster_name=machine_set.spec.cluster_name,
        owner=owner_reference(machine_set),
        labels=machine_labels(machine_set),
        annotations=machine_annotations(machine_set),
    )
    resource = await tools.external.resource_of(clone)
    await tools.client.apply(resource, clone, field_manager=MANAGER)
    return {"apiGroup": resource.group, "kind": resource.kind, "name": name}


async def _delete(scope: MachineSetScope, resource: Resource, document: Document) -> None:
    metadata = document["metadata"]
    try:
        await scope.tools.client.delete(resource, Key.of(document), uid=metadata["uid"])
    except NotFound:
        return


async def _shrink(scope: MachineSetScope, count: int) -> None:
    machine_set, tools = scope.machine_set, scope.tools
    order = machine_set.spec.deletion.order
    for machine in deletion_order(scope.machines or [], order, scope.now)[:count]:
        if not machine.deleting:
            await delete_machine(scope, machine)
            message = f'Deleted Machine "{machine.metadata.name}"'
            tools.events.normal(machine_set, "SuccessfulDelete", message)
