"""Phase: whose a Machine is."""

from __future__ import annotations

from kapy.api.machine import Machine
from kapy.api.names import CLUSTER_GROUP, Label
from kapy.core.machine.scope import MachineScope
from kapy.engine.result import DONE, Result
from kapy.kube.meta import controller_of, owner_reference

MADE_BY_OTHERS = (Label.SET_NAME, Label.POOL_NAME, Label.CONTROL_PLANE_NAME)


async def reconcile_owner(scope: MachineScope) -> Result:
    """A stand-alone Machine belongs to its Cluster; every Machine has the Cluster's label."""
    machine = scope.machine
    if stands_alone(machine):
        machine.metadata.owner_references.append(owner_reference(scope.cluster))
    machine.metadata.labels[Label.CLUSTER_NAME] = machine.spec.cluster_name
    return DONE


def stands_alone(machine: Machine) -> bool:
    """Whether nothing has made the Machine, and the Cluster does not own it yet.

    After a restore from a backup the owner of a Machine may come late: its labels tell that
    there is one.
    """
    if controller_of(machine) is not None:
        return False
    if any(label in machine.metadata.labels for label in MADE_BY_OTHERS):
        return False
    return not any(
        owner.kind == "Cluster" and owner.api_version.startswith(f"{CLUSTER_GROUP}/")
        for owner in machine.metadata.owner_references
    )
