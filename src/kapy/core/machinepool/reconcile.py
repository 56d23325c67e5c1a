"""The reconciler of MachinePools, and two phases: the owner of a MachinePool, and its deletion
(first the objects that it refers to, then its Nodes).
"""

from __future__ import annotations

from typing import Final

from kapy.api.machine_pool import MachinePool
from kapy.api.names import Finalizer, Label
from kapy.conditions.paused import report_pause
from kapy.contract.errors import NotServed
from kapy.contract.fields import View
from kapy.contract.observed import Found, Unreadable
from kapy.contract.ownership import ensure_owner
from kapy.core.machinepool.machines import read_machines, reconcile_machines, report_up_to_date
from kapy.core.machinepool.nodes import delete_node, read_nodes, reconcile_nodes
from kapy.core.machinepool.providers import reconcile_bootstrap, reconcile_infrastructure
from kapy.core.machinepool.scope import Dependencies, MachinePoolScope
from kapy.core.machinepool.status import update_status
from kapy.engine.draft import Draft
from kapy.engine.reconciler import Reconciler
from kapy.engine.result import DONE, Result, requeue
from kapy.kube import Key
from kapy.kube.errors import KapyError, NotFound
from kapy.kube.meta import owner_reference
from kapy.remote.cluster_cache import NotConnected
from kapy.remote.nodes import NodeDeletion

_UNREACHABLE: Final = "the Nodes cannot be deleted: their cluster does not answer"


async def _reconcile_owner(scope: MachinePoolScope) -> Result:
    """Set the Cluster's label and a correct owner reference."""
    metadata = scope.pool.metadata
    metadata.labels[Label.CLUSTER_NAME] = scope.pool.spec.cluster_name
    ensure_owner(metadata.owner_references, owner_reference(scope.cluster))
    return DONE


async def reconcile_delete(scope: MachinePoolScope) -> Result:
    """Proceed as far as possible; the deletion of referenced objects enqueues the pool."""
    objects = await _remaining_objects(scope)
    for view in objects:
        await _request_deletion(scope, view)
    if objects:
        return DONE
    if not await _are_nodes_deleted(scope):
        return _at_timeout(scope)
    finalizers = scope.pool.metadata.finalizers
    finalizers[:] = [finalizer for finalizer in finalizers if finalizer != Finalizer.MACHINE_POOL]
    scope.dependencies.synced.pop(scope.pool.key, None)
    scope.dependencies.node_deletions.forget(scope.pool.key)
    return DONE


async def _remaining_objects(scope: MachinePoolScope) -> list[View]:
    """Return the remaining referenced objects; with a CRD all its objects are deleted."""
    spec, result = scope.pool.spec.template.spec, list[View]()
    for ref in (spec.bootstrap.config_ref, spec.infrastructure_ref):
        if ref is None:
            continue
        match await scope.dependencies.external.get(ref, scope.namespace, View):
            case Found(view):
                result.append(view)
            case Unreadable(error) if not isinstance(error, NotServed):
                raise error
    return result


async def _request_deletion(scope: MachinePoolScope, view: View) -> None:
    if view.deleting:
        return
    dependencies, document = scope.dependencies, view.document
    resource, key = await dependencies.external.resource_of(document), Key.of(document)
    try:
        await dependencies.client.delete(resource, key, uid=document["metadata"]["uid"])
    except NotFound:
        return


async def _are_nodes_deleted(scope: MachinePoolScope) -> bool:
    """Delete the Nodes, whose machines are gone. Return False while the cluster is unreachable,
    within a timeout.
    """
    pool, nodes = scope.pool, scope.nodes
    if scope.cluster.deleting or not pool.status.node_refs:
        return True
    deletion = _deletion(scope)
    if nodes is None:
        return deletion.is_over(_limit(scope), scope.now, connected=False)
    try:
        client = scope.dependencies.remote.client(scope.cluster.key)
        for ref in pool.status.node_refs:
            node = nodes.raw(Key("", ref.name))
            if node is not None and node["metadata"]["uid"] == ref.uid:
                await delete_node(client, node)
    except KapyError as error:
        deletion.tries += not isinstance(error, NotConnected)
        if not deletion.is_over(_limit(scope), scope.now, connected=True):
            raise
    return True


def _deletion(scope: MachinePoolScope) -> NodeDeletion:
    pool = scope.pool
    return scope.dependencies.node_deletions.of(pool.key, pool.metadata.uid, scope.now)


def _limit(scope: MachinePoolScope) -> int | None:
    return scope.pool.spec.template.spec.deletion.node_deletion_timeout_seconds


def _at_timeout(scope: MachinePoolScope) -> Result:
    """Return a timer for the Node deletion timeout: there is no event at that moment."""
    remaining = _deletion(scope).remaining(_limit(scope), scope.now)
    return DONE if remaining is None else requeue(after=remaining, because=_UNREACHABLE)


class MachinePoolReconciler(Reconciler[MachinePool, MachinePoolScope]):
    """Reconciles MachinePools; the creation of a missing Cluster enqueues them."""

    normal = (
        _reconcile_owner,
        read_nodes,
        reconcile_bootstrap,
        reconcile_infrastructure,
        reconcile_machines,
        reconcile_nodes,
        read_machines,
        report_up_to_date,
    )
    deletion = (_reconcile_owner, read_nodes, reconcile_delete)

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
