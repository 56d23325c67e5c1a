"""Phases: read, adopt and (in a deletion) delete the Machines of a MachineSet.

Machines are deleted in the order of `spec.deletion.order` (pure functions).
"""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from datetime import datetime
from typing import Final

from kapy.api.embedded import ContractVersionedObjectReference
from kapy.api.machine import Machine
from kapy.api.machines import is_updating_in_place
from kapy.api.names import Annotation, ConditionType, Finalizer
from kapy.api.times import moment
from kapy.conditions.aggregation_input import group_of
from kapy.conditions.lookup import is_false
from kapy.conditions.machines import is_checked
from kapy.contract.ownership import claim, ownership_patch
from kapy.core.machineset.scope import MachineSetScope, ObservedMachine
from kapy.engine.result import DONE, Result
from kapy.kube import Document
from kapy.kube.errors import KapyError, NotFound
from kapy.kube.meta import owner_reference
from kapy.kube.model import encode
from kapy.kube.selectors import selector_of

_DELETING: Final = 100.0
_DELETION_REQUESTED: Final = 80.0
_UPDATING: Final = 75.0
_UNHEALTHY: Final = 50.0
_ANY: Final = 20.0
_DELETED_LAST: Final = 0.0
_TEN_DAYS: Final = 864000.0  # seconds


class UnknownOrder(KapyError):
    """`spec.deletion.order` is none of Random, Newest and Oldest."""


def references(machine: Machine) -> list[ContractVersionedObjectReference]:
    """Return the references of a Machine to its clones: infrastructure, and bootstrap config if
    any.
    """
    refs = (machine.spec.infrastructure_ref, machine.spec.bootstrap.config_ref)
    return [ref for ref in refs if ref is not None]


async def read_machines(scope: MachineSetScope) -> Result:
    """Read the selected Machines without those of other owners; orphans are adopted."""
    machine_set, objects = scope.machine_set, scope.dependencies.fleet
    selector = selector_of(encode(machine_set.spec.selector))

    def look(document: Document) -> ObservedMachine:
        selected, owner = selector.selects(document), _controller(document)
        machine = objects.machine_of(document)
        group = group_of(machine) if selected else None
        return ObservedMachine(document, selected, owner, machine, group, is_checked(machine))

    uid, machines = machine_set.metadata.uid, objects.machines_of(scope.cluster.key)
    observed = scope.cache.observed.map(machines, str(selector), look)
    own = [item for item in observed if item.controller == uid and item.selected]
    if orphans := [item for item in observed if item.controller is None and item.selected]:
        for item in orphans:
            if (adopted := await _adopt(scope, item.document)) is not None:
                own.append(look(adopted))
        own.sort(key=lambda item: item.machine.metadata.name)
    scope.machines = [item.machine for item in own]
    scope.documents = {item.machine.metadata.name: item.document for item in own}
    scope.groups = {id(item.machine): item.group for item in own if item.group is not None}
    scope.checked = [item.machine for item in own if item.checked]
    return DONE


def _controller(document: Document) -> str | None:
    for owner in document["metadata"].get("ownerReferences") or ():
        if owner.get("controller"):
            return str(owner["uid"])
    return None


async def _adopt(scope: MachineSetScope, document: Document) -> Document | None:
    machine_set, dependencies = scope.machine_set, scope.dependencies
    name = document["metadata"]["name"]
    owner = owner_reference(machine_set, controller=True, block_deletion=True)
    try:
        adopted = await claim(
            dependencies.client,
            Machine.RESOURCE,
            document,
            lambda item: ownership_patch(item, owner),
        )
    except KapyError as error:
        message = f'Failed to adopt Machine "{name}": {error}'
        dependencies.events.warning(machine_set, "FailedAdopt", message)
        return None
    dependencies.events.normal(machine_set, "SuccessfulAdopt", f'Adopted Machine "{name}"')
    return adopted


async def delete_machines(scope: MachineSetScope) -> Result:
    """Delete all Machines; remove the set's finalizer when the last one is gone."""
    machine_set = scope.machine_set
    if scope.machines is None:
        return DONE
    if not scope.machines:
        finalizers = machine_set.metadata.finalizers
        finalizers[:] = [
            finalizer for finalizer in finalizers if finalizer != Finalizer.MACHINE_SET
        ]
        return DONE
    for machine in scope.machines:
        if not machine.deleting:
            await delete_machine(scope, machine)
    return DONE


async def delete_machine(scope: MachineSetScope, machine: Machine) -> None:
    """Delete this Machine by its uid, and update the cached state."""
    dependencies, key = scope.dependencies, machine.key
    try:
        await dependencies.client.delete(Machine, key, uid=machine.metadata.uid)
    except NotFound:
        return
    document = dependencies.fleet.machines.raw(key)
    if document is not None and document["metadata"]["uid"] == machine.metadata.uid:
        scope.update_machine(document)


def deletion_order(
    machines: Sequence[Machine], order: str, now: datetime, *, healthy: Container[int] = ()
) -> list[Machine]:
    """Return the Machines in the order of their deletion; names break ties. order: Random (also
    ""), Newest or Oldest. healthy: the `id`s of Machines that are known to be healthy, and neither
    deleted nor updated. Raises UnknownOrder.
    """
    if order not in ("", "Random", "Newest", "Oldest"):
        raise UnknownOrder(
            f"Unsupported deletion order {order}. Must be one of 'Random', 'Newest', or 'Oldest'"
        )

    def rank(machine: Machine) -> tuple[float, str]:
        if id(machine) in healthy and Annotation.DELETE_MACHINE not in machine.metadata.annotations:
            return -_priority_by_age(machine, order, now), machine.metadata.name
        return -priority(machine, order, now), machine.metadata.name

    return sorted(machines, key=rank)


def priority(machine: Machine, order: str, now: datetime) -> float:
    """Return a priority from 0 (never) to 100 (first): Machines in deletion come first, or more
    would be deleted while they go; then those that a user marked, those that are being updated (so
    that no update completes in vain), and the unhealthy ones.
    """
    if machine.deleting:
        return _DELETING
    if Annotation.DELETE_MACHINE in machine.metadata.annotations:
        return _DELETION_REQUESTED
    if is_updating_in_place(machine):
        return _UPDATING
    return _priority_by_age(machine, order, now) if is_healthy(machine) else _UNHEALTHY


def _priority_by_age(machine: Machine, order: str, now: datetime) -> float:
    if order == "Oldest":
        return _age_rank(machine, now)
    if order == "Newest":
        return _UNHEALTHY - _age_rank(machine, now)
    return _ANY


def is_healthy(machine: Machine) -> bool:
    """Return whether no condition is bad; unknown ones do not count as bad."""
    return machine.status.node_ref is not None and not (
        is_false(machine.status.conditions, ConditionType.NODE_HEALTHY)
        or is_false(machine.status.conditions, ConditionType.HEALTH_CHECK_SUCCEEDED)
    )


def _age_rank(machine: Machine, now: datetime) -> float:
    """Map the age to 0 … 50, growing more and more slowly."""
    if machine.metadata.creation_timestamp is None:
        return _DELETED_LAST
    age = (now - moment(machine.metadata.creation_timestamp)).total_seconds()
    return _DELETED_LAST if age < 0 else _UNHEALTHY * (1.0 - math.exp(-age / _TEN_DAYS))
