"""Phases: set the ownership of a MachineSet and of its templates."""

from __future__ import annotations

from kapy.api.embedded import ContractVersionedObjectReference
from kapy.api.names import CLUSTER_GROUP, Label
from kapy.contract.observed import Absent, Unreadable
from kapy.contract.ownership import ensure_owner
from kapy.contract.templates import SUFFIX, owned_template
from kapy.core.machineset.scope import MachineSetScope
from kapy.engine.failure import NotYet
from kapy.engine.result import DONE, Result
from kapy.kube.meta import owner_reference


async def reconcile_owner(scope: MachineSetScope) -> Result:
    """Make the Cluster own a standalone MachineSet; complete its labels, selector and template."""
    machine_set = scope.machine_set
    metadata, spec = machine_set.metadata, machine_set.spec
    metadata.labels[Label.CLUSTER_NAME] = spec.cluster_name
    spec.selector.match_labels[Label.CLUSTER_NAME] = spec.cluster_name
    spec.template.metadata.labels[Label.CLUSTER_NAME] = spec.cluster_name
    of_deployment = any(
        owner.kind == "MachineDeployment" and owner.api_version.startswith(f"{CLUSTER_GROUP}/")
        for owner in metadata.owner_references
    )
    if not of_deployment and Label.DEPLOYMENT_NAME not in metadata.labels:
        ensure_owner(metadata.owner_references, owner_reference(scope.cluster))
    return DONE


async def reconcile_infrastructure_template(scope: MachineSetScope) -> Result:
    """Make the Cluster own the template of infrastructure machines."""
    ref = scope.machine_set.spec.template.spec.infrastructure_ref
    scope.infrastructure_missing = await _is_missing(scope, ref)
    _raise_if_needed(scope, ref, missing=scope.infrastructure_missing)
    return DONE


async def reconcile_bootstrap_template(scope: MachineSetScope) -> Result:
    """Make the Cluster own the template of bootstrap configs, if there is one."""
    ref = scope.machine_set.spec.template.spec.bootstrap.config_ref
    if ref is not None:
        scope.bootstrap_missing = await _is_missing(scope, ref)
        _raise_if_needed(scope, ref, missing=scope.bootstrap_missing)
    return DONE


async def _is_missing(scope: MachineSetScope, ref: ContractVersionedObjectReference) -> bool:
    if not ref.kind.endswith(SUFFIX):
        return False
    dependencies = scope.dependencies
    template = await owned_template(dependencies.external, ref, scope.cluster)
    if isinstance(template, Unreadable):
        raise template.error
    return isinstance(template, Absent)


def _raise_if_needed(
    scope: MachineSetScope, ref: ContractVersionedObjectReference, *, missing: bool
) -> None:
    """Raise for a missing template, unless the set (of an old revision, or in deletion)
    needs none.
    """
    if missing and not scope.machine_set.deleting and scope.is_current:
        raise NotYet(f"{ref.kind} {scope.namespace}/{ref.name} does not exist")
