"""Update Machines in place: old sets move Machines to the new set instead of deleting them.

Two annotations must agree on a move (`move-to` on the old set, `receive-from` on the new one), a
third lists the moved Machines that the MachineDeployment has counted. It requires a feature gate.
The plan of a rollout decides first which old sets can be updated in place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kapy.api.embedded import ContractVersionedObjectReference
from kapy.api.machine import Machine
from kapy.api.machine_set import MachineSet
from kapy.api.machines import is_updating_in_place
from kapy.api.names import Annotation
from kapy.contract.observed import Found, Unreadable
from kapy.contract.templates import Template
from kapy.core.machinedeployment.rollout import (
    Rollout,
    available,
    existing_replicas,
    max_surge,
    replicas,
    up_to_date,
)
from kapy.core.machinedeployment.scope import MachineDeploymentScope, SetUpdates
from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.kube.meta import controller_of, to_document

if TYPE_CHECKING:
    from kapy.core.machinedeployment.rollout import Rollout


def acknowledged_names(current: MachineSet | None) -> frozenset[str]:
    """Return the names of moved Machines that an earlier plan has counted. current: the existing
    new set.
    """
    annotations = {} if current is None else current.metadata.annotations
    return frozenset(annotations.get(Annotation.ACKNOWLEDGED_MOVE, "").split(",")) - {""}


def candidates(rollout: Rollout) -> list[MachineSet]:
    """Return the old sets for which in-place updates matter; none once the new set has all wanted
    Machines.
    """
    _, fresh = _moved_machines(rollout)
    if replicas(rollout.new) + len(fresh) >= rollout.desired:
        return []
    return [machine_set for machine_set in rollout.old if _is_eligible(rollout, machine_set)]


def acknowledge_moves(rollout: Rollout) -> None:
    """Count newly moved Machines among the new set's replicas."""
    if rollout.in_place is None:
        return
    moved, fresh = _moved_machines(rollout)
    if fresh:
        rollout.new.spec.replicas = replicas(rollout.new) + len(fresh)
        rollout.note(
            rollout.new, f"acknowledge Machines {','.join(moved)} moved from an old MachineSet"
        )
    if moved:
        rollout.new.metadata.annotations[Annotation.ACKNOWLEDGED_MOVE] = ",".join(moved)


def prefer_in_place(rollout: Rollout) -> None:
    """Let old sets move Machines that can be updated in place, and surge as little as possible: a
    surged Machine would only be deleted again.
    """
    if rollout.in_place is None or replicas(rollout.new) >= rollout.desired:
        return
    movers = [old for old in rollout.old if _can_move(rollout, old)]
    if not movers:
        return
    new = rollout.new
    for old in movers:
        rollout.note(old, f"should scale down by moving Machines to MachineSet {new.metadata.name}")
        old.metadata.annotations[Annotation.MOVE_MACHINES_TO_MACHINE_SET] = new.metadata.name
    names = sorted(old.metadata.name for old in movers)
    new.metadata.annotations[Annotation.RECEIVE_MACHINES_FROM_MACHINE_SETS] = ",".join(names)
    _surge_less(rollout)


def _moved_machines(rollout: Rollout) -> tuple[list[str], list[str]]:
    """Return the marked Machines of the new set: all, and those that no plan has counted."""
    moved = sorted(
        machine.metadata.name
        for machine in rollout.machines
        if _belongs_to(machine, rollout.new)
        and Annotation.PENDING_ACKNOWLEDGE_MOVE in machine.metadata.annotations
    )
    return moved, [name for name in moved if name not in rollout.acknowledged]


def _can_move(rollout: Rollout, old: MachineSet) -> bool:
    decided = bool(rollout.in_place and rollout.in_place.get(old.metadata.name))
    return decided and _is_eligible(rollout, old)


def _is_eligible(rollout: Rollout, old: MachineSet) -> bool:
    difference = rollout.differences.get(old.metadata.name)
    return (
        existing_replicas(old) > 0
        and difference is not None
        and difference.eligible_for_in_place_update
    )


def _surge_less(rollout: Rollout) -> None:
    new, name = rollout.new, rollout.new.metadata.name
    growth = rollout.intent(new) - replicas(new)
    without_surge = max(growth - max_surge(rollout.deployment), 0)
    surge = growth - without_surge
    if growth <= 0 or surge <= 0:
        return
    if without_surge == 0 and not _has_moving_machines(rollout):
        rollout.note(new, "surge 1 allowed to create availability for in-place updates")
        rollout.scale[name] = replicas(new) + 1
        return
    rollout.note(new, f"surge {surge} dropped to prioritize in-place updates")
    if without_surge:
        rollout.scale[name] = replicas(new) + without_surge
    else:
        del rollout.scale[name]


def _has_moving_machines(rollout: Rollout) -> bool:
    """Return whether Machines are being moved or updated: then no surge is needed for progress."""
    new = rollout.new
    return (
        replicas(new) != existing_replicas(new)
        or any(
            replicas(old) < existing_replicas(old) or rollout.intent(old) < replicas(old)
            for old in rollout.old
        )
        or replicas(new) != up_to_date(new)
        or any(is_updating_in_place(machine) for machine in rollout.machines)
        or replicas(new) != available(new)
    )


def _belongs_to(machine: Machine, machine_set: MachineSet) -> bool:
    owner = controller_of(machine)
    return (
        owner is not None and owner.kind == "MachineSet" and owner.name == machine_set.metadata.name
    )


class UndecidedUpdate(KapyError):
    """It is unknown whether a MachineSet can be updated in place."""


async def decide(scope: MachineDeploymentScope, rollout: Rollout) -> None:
    """Record in the plan of a rolling update which old sets can be updated in place.

    Raises Undecided: replacing Machines that could stay cannot be undone, so nothing is planned
    until it is known.
    """
    updates = scope.dependencies.updates
    if updates is None:
        return
    decisions = rollout.in_place = dict[str, bool]()
    for old in candidates(rollout):
        name = old.metadata.name
        try:
            decisions[name] = await _can_update(scope, updates, old, rollout.new)
        except KapyError as error:
            scope.undecided = (
                f"failed to determine if MachineSet {name} can be updated in-place: {error}"
            )
            raise UndecidedUpdate(scope.undecided) from error


async def _can_update(
    scope: MachineDeploymentScope, updates: SetUpdates, old: MachineSet, new: MachineSet
) -> bool:
    current, desired = await _objects(scope, old), await _objects(scope, new)
    if current is None or desired is None or current.keys() != desired.keys():
        return False
    difference = await updates.can_update_machine_set(scope.deployment.key, current, desired)
    return not difference


async def _objects(scope: MachineDeploymentScope, machine_set: MachineSet) -> Document | None:
    """Return a set with its templates; None if one of them does not exist."""
    spec = machine_set.spec.template.spec
    objects = {"machineSet": to_document(machine_set)}
    for field, ref in (
        ("infrastructureMachineTemplate", spec.infrastructure_ref),
        ("bootstrapConfigTemplate", spec.bootstrap.config_ref),
    ):
        if ref is not None:
            template = await _template(scope, ref)
            if template is None:
                return None
            objects[field] = template
    return objects


async def _template(
    scope: MachineDeploymentScope, ref: ContractVersionedObjectReference
) -> Document | None:
    namespace = scope.deployment.metadata.namespace
    result = await scope.dependencies.external.get(ref, namespace, Template)
    if isinstance(result, Unreadable):
        raise result.error
    return result.view.document if isinstance(result, Found) else None
