"""Phase: set the ownership of a Machine."""

from __future__ import annotations

from kapy.api.machine import Machine
from kapy.api.names import Label
from kapy.contract.ownership import ensure_owner
from kapy.core.machine.scope import MachineScope
from kapy.engine.result import DONE, Result
from kapy.kube.meta import controller_of, owner_reference

MADE_BY_OTHERS = (Label.SET_NAME, Label.POOL_NAME, Label.CONTROL_PLANE_NAME)


async def reconcile_owner(scope: MachineScope) -> Result:
    """Make the Cluster own a standalone Machine, and set the Cluster's label on every Machine."""
    machine = scope.machine
    if stands_alone(machine):
        ensure_owner(machine.metadata.owner_references, owner_reference(scope.cluster))
    machine.metadata.labels[Label.CLUSTER_NAME] = machine.spec.cluster_name
    return DONE


def stands_alone(machine: Machine) -> bool:
    """Return whether the Machine was created by a user.

    After a restore from a backup the owner reference may come late: the labels show that there is
    an owner.
    """
    if controller_of(machine) is not None:
        return False
    return not any(label in machine.metadata.labels for label in MADE_BY_OTHERS)
