"""Read the objects that a Machine refers to, and set their ownership."""

from __future__ import annotations

from typing import TypeVar

from kapy.api.embedded import ContractVersionedObjectReference
from kapy.api.names import CLUSTER_GROUP, Label
from kapy.contract.fields import View
from kapy.contract.observed import Observed
from kapy.contract.ownership import ownership_patch
from kapy.core.machine.scope import MachineScope
from kapy.kube import Document
from kapy.kube.meta import owner_reference
from kapy.kube.names import split_api_version

V = TypeVar("V", bound=View)


async def get_owned(
    scope: MachineScope, ref: ContractVersionedObjectReference, view: type[V]
) -> Observed[V]:
    """Return the object that the Machine refers to, with the Machine as its only controller.

    MachineSets and control planes are owners of their clones at first, because the Machine does not
    exist then: the Machine replaces them.
    """
    machine = scope.machine
    owner = owner_reference(machine, controller=True, block_deletion=True)

    def patch(document: Document) -> Document:
        return ownership_patch(
            document,
            owner,
            cluster=machine.spec.cluster_name,
            without=lambda value: _only_until_the_machine_exists(scope, value),
        )

    return await scope.dependencies.external.get_owned(ref, scope.namespace, view, patch)


def _only_until_the_machine_exists(scope: MachineScope, owner: Document) -> bool:
    group, _ = split_api_version(owner["apiVersion"])
    if group == CLUSTER_GROUP and owner["kind"] == "MachineSet":
        return True
    control_plane = scope.cluster.spec.control_plane_ref
    if control_plane is None or Label.CONTROL_PLANE not in scope.machine.metadata.labels:
        return False
    return (group, owner["kind"]) == (control_plane.api_group, control_plane.kind)
