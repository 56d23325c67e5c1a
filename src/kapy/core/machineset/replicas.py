"""Phase: create or delete Machines to reach `spec.replicas`.

Machines that were moved from another set count only after the MachineDeployment has counted them.
"""

from __future__ import annotations

from kapy.api.names import Annotation
from kapy.core.machineset.creation import create
from kapy.core.machineset.deletion_order import deletion_order
from kapy.core.machineset.in_place import move_machines, uncounted_machines
from kapy.core.machineset.machines import delete_machine
from kapy.core.machineset.orphans import delete_orphans, find_orphans
from kapy.core.machineset.scope import MachineSetScope
from kapy.engine.result import DONE, Result
from kapy.kube.errors import KapyError


class NoReplicas(KapyError):
    """`spec.replicas` is not set; admission always sets it."""


async def reconcile_replicas(scope: MachineSetScope) -> Result:
    """Create missing Machines, or delete (or move) surplus ones."""
    machine_set, machines = scope.machine_set, scope.machines
    if machines is None:
        return DONE
    if machine_set.spec.replicas is None:
        raise NoReplicas(f"spec.replicas of MachineSet {machine_set.key} is not set")
    leftovers = await find_orphans(scope)
    missing = machine_set.spec.replicas - len(machines)
    if missing > 0 and not _creation_disabled(scope):
        return await create(scope, missing, leftovers)
    excess = -missing - len(uncounted_machines(scope))
    if excess > 0:
        annotations = machine_set.metadata.annotations
        if target := annotations.get(Annotation.MOVE_MACHINES_TO_MACHINE_SET):
            await move_machines(scope, target, excess)
        else:
            await _shrink(scope, excess)
    await delete_orphans(scope, leftovers)
    return DONE


def _creation_disabled(scope: MachineSetScope) -> bool:
    annotations = scope.machine_set.metadata.annotations
    return annotations.get(Annotation.DISABLE_MACHINE_CREATE) == "true"


async def _shrink(scope: MachineSetScope, count: int) -> None:
    """Delete Machines by priority; a failure of one does not stop the others."""
    machine_set, dependencies = scope.machine_set, scope.dependencies
    order, failures = machine_set.spec.deletion.order, list[Exception]()
    if sum(machine.deleting for machine in scope.aggregation_input.noteworthy) >= count:
        return  # these come first
    machines = scope.machines or []
    for machine in deletion_order(machines, order, scope.now, healthy=scope.groups)[:count]:
        if machine.deleting:
            continue
        try:
            await delete_machine(scope, machine)
        except KapyError as error:
            failures.append(error)
            continue
        message = f'Deleted Machine "{machine.metadata.name}"'
        dependencies.events.normal(machine_set, "SuccessfulDelete", message)
    if failures:
        raise ExceptionGroup("failed to delete Machines", failures)
