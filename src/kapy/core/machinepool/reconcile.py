"""The reconciler of MachinePools."""

from __future__ import annotations

from kapy.api.machine_pool import MachinePool
from kapy.api.names import Finalizer, Label
from kapy.conditions.paused import report_pause
from kapy.contract.ownership import ensure_owner
from kapy.core.machinepool.bootstrap import reconcile_bootstrap
from kapy.core.machinepool.deletion import reconcile_delete
from kapy.core.machinepool.infrastructure import reconcile_infrastructure
from kapy.core.machinepool.machines import read_machines, reconcile_machines, report_up_to_date
from kapy.core.machinepool.nodes import read_nodes, reconcile_nodes
from kapy.core.machinepool.scope import Dependencies, MachinePoolScope
from kapy.core.machinepool.status import update_status
from kapy.engine.draft import Draft
from kapy.engine.reconciler import Reconciler
from kapy.engine.result import DONE, Result
from kapy.kube.meta import owner_reference


async def reconcile_owner(scope: MachinePoolScope) -> Result:
    """Set the Cluster's label and a correct owner reference."""
    metadata = scope.pool.metadata
    metadata.labels[Label.CLUSTER_NAME] = scope.pool.spec.cluster_name
    ensure_owner(metadata.owner_references, owner_reference(scope.cluster))
    return DONE


class MachinePoolReconciler(Reconciler[MachinePool, MachinePoolScope]):
    """Reconciles MachinePools; the creation of a missing Cluster enqueues them."""

    normal = (
        reconcile_owner,
        read_nodes,
        reconcile_bootstrap,
        reconcile_infrastructure,
        reconcile_machines,
        reconcile_nodes,
        read_machines,
        report_up_to_date,
    )
    deletion = (reconcile_owner, read_nodes, reconcile_delete)

    def __init__(self, dependencies: Dependencies) -> None:
        super().__init__(
            MachinePool, dependencies.fleet.pools, dependencies.client, Finalizer.MACHINE_POOL
        )
        self.dependencies = dependencies

    async def begin(self, draft: Draft[MachinePool]) -> MachinePoolScope | Result:
        cluster = self.dependencies.fleet.cluster_of(draft.object)
        if cluster is None:
            return DONE
        return MachinePoolScope(self.dependencies, draft, cluster, self.dependencies.clock())

    def pause(self, scope: MachinePoolScope) -> bool:
        return report_pause(scope.pool, scope.cluster, scope.now)

    def set_status(self, scope: MachinePoolScope) -> Result:
        update_status(scope)
        return DONE
