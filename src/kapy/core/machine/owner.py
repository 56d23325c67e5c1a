"""Phase: whose a Machine is."""

from __future__ import annotations

from kapy.api.machine import Machine
from kapy.api.names import Label
from kapy.contract.ownership import ensure_owner
from kapy.core.machine.scope import MachineScope
from kapy.engine.result import DONE, Result
from kapy.kube.meta import controller_of, owner_reference

MADE_BY_OTHERS = (Label.SET_NAME, Label.POOL_NAME, Label.CONTROL_PLANE_NAME)


async def reconcile_owner(scope: MachineScope) -> Result:
    """A stand-alone Machine belongs to its Cluster; every Machine has the Cluster's label."""
    machine = scope.machine
    if stands_alone(machine):
        ensure_owner(machine.metadata.owner_references, owner_reference(scope.cluster))
    machine.metadata.labels[Label.CLUSTER_NAME] = machine.spec.cluster_name
    return DONE


def stands_alone(machine: Machine) -> bool:
    """Whether nothing has made the Machine.

    After a restore from a backup the owner of a Machine may come late: its labels tell that
    there is one.
    """
    if controller_of(machine) is not None:
        return False
    return not any(label in machine.metadata.labels for label in MADE_BY_OTHERS)
