"""Phase: delete a MachinePool: its references first, then its Nodes."""

from __future__ import annotations

from typing import Final

from kapy.api.names import Finalizer
from kapy.contract.errors import NotServed
from kapy.contract.fields import View
from kapy.contract.observed import Found, Unreadable
from kapy.core.machinepool.nodes import delete_node
from kapy.core.machinepool.scope import MachinePoolScope
from kapy.engine.result import DONE, Result, requeue
from kapy.kube import Key
from kapy.kube.errors import KapyError, NotFound
from kapy.remote.cluster_cache import NotConnected
from kapy.remote.nodes import NodeDeletion

UNREACHABLE: Final = "the Nodes cannot be deleted: their cluster does not answer"


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
    return DONE if remaining is None else requeue(after=remaining, because=UNREACHABLE)
