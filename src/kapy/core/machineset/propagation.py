"""Phase: what changes in a MachineSet's template and is mutable in place reaches its Machines.

Machines are applied whole; of the objects cloned for them only labels and annotations are, by a
field manager of their own. Nothing is sent when nothing would change.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from kapy.api.embedded import ContractVersionedObjectReference
from kapy.api.machine import Machine, MachineSpec
from kapy.contract.fields import View
from kapy.contract.observed import Absent, Unreadable
from kapy.core.machineset.desired import (
    MANAGER,
    METADATA_MANAGER,
    metadata_intent,
    updated_machine,
)
from kapy.core.machineset.scope import MachineSetScope
from kapy.engine.failure import NotYet
from kapy.engine.result import DONE, Result
from kapy.kube import Document, Key
from kapy.kube.apply.settled import is_settled
from kapy.kube.meta import read
from kapy.kube.model import encode
from kapy.kube.patch.merge_patch import difference

PARTS: Final = ("labels", "annotations")
Names: TypeAlias = dict[str, set[str]]


async def propagate(scope: MachineSetScope) -> Result:
    """Bring every Machine, and what was cloned for it, in line with the template."""
    machines = scope.machines or []
    for place, machine in enumerate(machines):
        if machine.deleting:
            await _what_deletion_needs(scope, machine)
            continue
        await _propagate_to(scope, machine, machine.spec.infrastructure_ref)
        if machine.spec.bootstrap.config_ref is not None:
            await _propagate_to(scope, machine, machine.spec.bootstrap.config_ref)
        # The Machine last: until then it tells what its clones were given before.
        document = scope.documents[machine.metadata.name]
        intent = updated_machine(scope.machine_set, machine)
        if not is_settled(document, intent, MANAGER):
            document = await scope.tools.client.apply(
                Machine.RESOURCE, intent, field_manager=MANAGER
            )
            scope.documents[machine.metadata.name] = document
            machines[place] = read(document, Machine)
    return DONE


async def _what_deletion_needs(scope: MachineSetScope, machine: Machine) -> None:
    """Of a Machine that goes away only what its going depends on is changed."""
    wanted, spec = scope.machine_set.spec.template.spec, machine.spec
    before = encode(_subset(spec))
    timeout = wanted.deletion.node_deletion_timeout_seconds
    spec.readiness_gates = wanted.readiness_gates
    spec.deletion.node_drain_timeout_seconds = wanted.deletion.node_drain_timeout_seconds
    spec.deletion.node_deletion_timeout_seconds = 10 if timeout is None else timeout
    spec.deletion.node_volume_detach_timeout_seconds = (
        wanted.deletion.node_volume_detach_timeout_seconds
    )
    spec.min_ready_seconds = wanted.min_ready_seconds
    spec.taints = wanted.taints
    if patch := difference(before, encode(_subset(spec))):
        await scope.tools.client.patch(Machine.RESOURCE, machine.key, {"spec": patch})


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
    tools, owner = scope.tools, scope.documents[machine.metadata.name]
    found = await tools.external.get(ref, scope.namespace, View)
    if isinstance(found, Unreadable):
        raise found.error
    if isinstance(found, Absent):
        name = machine.metadata.name
        raise NotYet(f"{ref.kind} {ref.name} of Machine {name} does not exist")
    document = found.view.document
    wanted = metadata_intent(scope.machine_set, document)["metadata"]
    outdated = _present(document, _unwanted(owner, wanted, MANAGER))
    unwanted = _unwanted(document, wanted, METADATA_MANAGER)
    if not outdated and not unwanted and _has(document["metadata"], wanted):
        return
    resource = await tools.external.resource_of(document)
    intent = metadata_intent(scope.machine_set, document)
    document = await tools.client.apply(resource, intent, field_manager=METADATA_MANAGER)
    if outdated := _present(document, outdated):
        # What came with the creation belongs to the creating manager, and stays unless removed.
        patch = {part: dict.fromkeys(names) for part, names in outdated.items()}
        await tools.client.patch(resource, Key.of(document), {"metadata": patch})


def _has(metadata: Document, wanted: Document) -> bool:
    """Whether all wanted labels and annotations are there."""
    return all(
        (metadata.get(part) or {}).get(name) == value
        for part in PARTS
        for name, value in (wanted.get(part) or {}).items()
    )


def _unwanted(document: Document, wanted: Document, manager: str) -> Names:
    """Labels and annotations of an object that the manager has applied, and would not any more."""
    unwanted: Names = {}
    for entry in document["metadata"].get("managedFields") or ():
        if entry.get("manager") != manager or entry.get("operation") != "Apply":
            continue
        fields = (entry.get("fieldsV1") or {}).get("f:metadata") or {}
        for part in PARTS:
            names = {path.removeprefix("f:") for path in fields.get(f"f:{part}") or {}}
            unwanted[part] = names - {"."} - (wanted.get(part) or {}).keys()
    return {part: names for part, names in unwanted.items() if names}


def _present(document: Document, names: Names) -> Names:
    """Those of the labels and annotations that the object has."""
    metadata = document["metadata"]
    present = {part: some & (metadata.get(part) or {}).keys() for part, some in names.items()}
    return {part: some for part, some in present.items() if some}
