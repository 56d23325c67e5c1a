"""Find out which old MachineSets can be updated in place, for the plan of a rollout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kapy.api.embedded import ContractVersionedObjectReference
from kapy.api.machine_set import MachineSet
from kapy.contract.observed import Found, Unreadable
from kapy.contract.templates import Template
from kapy.core.machinedeployment.in_place import candidates
from kapy.core.machinedeployment.scope import MachineDeploymentScope, SetUpdates
from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.kube.meta import to_document

if TYPE_CHECKING:
    from kapy.core.machinedeployment.rollout import Rollout


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
