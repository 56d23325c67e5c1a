"""Phase: a MachinePool belongs to its Cluster."""

from __future__ import annotations

from kapy.api.names import Label
from kapy.contract.ownership import is_same_owner
from kapy.core.machinepool.scope import MachinePoolScope
from kapy.engine.result import DONE, Result
from kapy.kube.meta import owner_reference
from kapy.kube.model import encode


async def reconcile_owner(scope: MachinePoolScope) -> Result:
    """The Cluster's label, and a reference to it that is true (after a restore its uid differs)."""
    metadata, wanted = scope.pool.metadata, owner_reference(scope.cluster)
    metadata.labels[Label.CLUSTER_NAME] = scope.pool.spec.cluster_name
    owners = metadata.owner_references
    for place, one in enumerate(owners):
        if is_same_owner(encode(one), encode(wanted)):
            if (one.uid, one.api_version) != (wanted.uid, wanted.api_version):
                owners[place] = wanted
            return DONE
    owners.append(wanted)
    return DONE
