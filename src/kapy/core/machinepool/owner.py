"""Phase: set the ownership of a MachinePool."""

from __future__ import annotations

from kapy.api.names import Label
from kapy.contract.ownership import ensure_owner
from kapy.core.machinepool.scope import MachinePoolScope
from kapy.engine.result import DONE, Result
from kapy.kube.meta import owner_reference


async def reconcile_owner(scope: MachinePoolScope) -> Result:
    """Set the Cluster's label and a correct owner reference."""
    metadata = scope.pool.metadata
    metadata.labels[Label.CLUSTER_NAME] = scope.pool.spec.cluster_name
    ensure_owner(metadata.owner_references, owner_reference(scope.cluster))
    return DONE
