"""Phases: set the ownership of a MachineDeployment and of its templates."""

from __future__ import annotations

from kapy.api.names import Label
from kapy.contract.errors import ContractError
from kapy.contract.observed import Absent, Unreadable
from kapy.contract.ownership import ensure_owner
from kapy.contract.templates import owned_template
from kapy.core.machinedeployment.scope import MachineDeploymentScope
from kapy.engine.result import DONE, Result
from kapy.kube.meta import owner_reference


async def reconcile_owner(scope: MachineDeploymentScope) -> Result:
    """Make the Cluster an owner of the MachineDeployment."""
    deployment = scope.deployment
    deployment.metadata.labels[Label.CLUSTER_NAME] = deployment.spec.cluster_name
    ensure_owner(deployment.metadata.owner_references, owner_reference(scope.cluster))
    return DONE


async def reconcile_templates(scope: MachineDeploymentScope) -> Result:
    """Make the Cluster own the templates; record those that do not exist."""
    spec, dependencies = scope.deployment.spec.template.spec, scope.dependencies
    scope.missing = []
    for ref in (spec.bootstrap.config_ref, spec.infrastructure_ref):
        if ref is None:
            continue
        template = await owned_template(dependencies.external, ref, scope.cluster)
        if isinstance(template, Unreadable):
            if isinstance(template.error, ContractError):
                scope.broken = str(template.error)
            raise template.error
        if isinstance(template, Absent):
            scope.missing.append(ref.kind)
    return DONE
