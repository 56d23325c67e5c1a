"""One reconcile of a MachinePool: the order of the phases, and the writes."""

from __future__ import annotations

from typing import Final

from kapy.api.machine_pool import MachinePool
from kapy.api.names import Finalizer
from kapy.conditions.change import set_condition
from kapy.conditions.paused import is_paused, paused_condition
from kapy.core.machinepool.bootstrap import reconcile_bootstrap
from kapy.core.machinepool.deletion import reconcile_delete
from kapy.core.machinepool.infrastructure import reconcile_infrastructure
from kapy.core.machinepool.machines import read_machines, reconcile_machines, report_up_to_date
from kapy.core.machinepool.nodes import read_nodes, reconcile_nodes
from kapy.core.machinepool.owner import reconcile_owner
from kapy.core.machinepool.scope import MachinePoolScope, Tools
from kapy.core.machinepool.status import update_status
from kapy.engine.draft import Draft
from kapy.engine.phases import Phase, run_and_write
from kapy.engine.result import DONE, Result
from kapy.kube import Key

ALWAYS: Final[tuple[Phase[MachinePoolScope], ...]] = (reconcile_owner, read_nodes)
NORMAL: Final = (
    *ALWAYS,
    reconcile_bootstrap,
    reconcile_infrastructure,
    reconcile_machines,
    reconcile_nodes,
    read_machines,
    report_up_to_date,
)
DELETION: Final = (*ALWAYS, reconcile_delete)


async def reconcile(tools: Tools, key: Key) -> Result:
    """Reconcile a MachinePool; the creation of a missing Cluster enqueues it."""
    document = tools.fleet.pools.raw(key)
    if document is None:
        return DONE
    draft = Draft(tools.client, MachinePool, document)
    pool = draft.object
    cluster = tools.fleet.clusters.get(Key(key.namespace, pool.spec.cluster_name))
    if cluster is None:
        return DONE
    fresh = not pool.deleting and Finalizer.MACHINE_POOL not in pool.metadata.finalizers
    if fresh:
        pool.metadata.finalizers.append(Finalizer.MACHINE_POOL)
    if is_paused(pool, cluster):
        set_condition(pool, paused_condition(pool, cluster), tools.clock())
        await draft.save()
        return DONE
    if fresh:
        # Before anything is done, or a deletion meanwhile would leave it undone.
        await draft.save_spec()
    return await _work(MachinePoolScope(tools, draft, cluster, tools.clock()))


async def _work(scope: MachinePoolScope) -> Result:
    phases = DELETION if scope.pool.deleting else NORMAL
    return await run_and_write(phases, scope, _write)


async def _write(scope: MachinePoolScope, *, failed: bool) -> Result:
    """Write metadata and spec first, so that the status refers to the new generation."""
    await scope.draft.save_spec()
    pool = scope.pool
    if pool.deleting and not pool.metadata.finalizers:
        return DONE
    update_status(scope)
    if not failed:
        pool.status.observed_generation = pool.metadata.generation
    await scope.draft.save()
    return DONE
