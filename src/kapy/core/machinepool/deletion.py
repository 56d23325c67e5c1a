"""Phase: a MachinePool goes away: what it refers to first, then its Nodes."""

from __future__ import annotations

from datetime import timedelta

from kapy.api.names import Finalizer
from kapy.api.times import moment
from kapy.contract.errors import NotServed
from kapy.contract.fields import View
from kapy.contract.observed import Found, Unreadable
from kapy.core.machinepool.nodes import delete_node
from kapy.core.machinepool.scope import MachinePoolScope
from kapy.engine.failure import NotYet
from kapy.engine.result import DONE, Result
from kapy.kube import Key
from kapy.kube.errors import NotFound


async def reconcile_delete(scope: MachinePoolScope) -> Result:
    """Go as far as is possible now; what is waited for wakes the pool when it is gone."""
    found = await _still_there(scope)
    for one in found:
        await _ask_to_go(scope, one)
    if found:
        return DONE
    if not _nodes_had_their_time(scope):
        await _delete_nodes(scope)
    finalizers = scope.pool.metadata.finalizers
    finalizers[:] = [one for one in finalizers if one != Finalizer.MACHINE_POOL]
    scope.tools.settled.pop(scope.pool.key, None)
    return DONE


async def _still_there(scope: MachinePoolScope) -> list[View]:
    """What the pool refers to. With the definition of a kind, all its objects go."""
    spec, found = scope.pool.spec.template.spec, list[View]()
    for ref in (spec.bootstrap.config_ref, spec.infrastructure_ref):
        if ref is None:
            continue
        match await scope.tools.external.get(ref, scope.namespace, View):
            case Found(view):
                found.append(view)
            case Unreadable(error) if not isinstance(error, NotServed):
                raise error
    return found


async def _ask_to_go(scope: MachinePoolScope, view: View) -> None:
    if view.deleting:
        return
    tools, document = scope.tools, view.document
    resource, key = await tools.external.resource_of(document), Key.of(document)
    try:
        await tools.client.delete(resource, key, uid=document["metadata"]["uid"])
    except NotFound:
        return


def _nodes_had_their_time(scope: MachinePoolScope) -> bool:
    """Whether the pool has waited for its Nodes' deletion as long as it should (0: forever)."""
    limit = scope.pool.spec.template.spec.deletion.node_deletion_timeout_seconds
    asked = scope.pool.metadata.deletion_timestamp
    if not limit or asked is None:
        return False
    return scope.now > moment(asked) + timedelta(seconds=limit)


async def _delete_nodes(scope: MachinePoolScope) -> None:
    """The machines are gone, so no Node has one any more. Raises NotYet while nobody answers."""
    if scope.cluster.deleting or not scope.pool.status.node_refs:
        return
    nodes = scope.nodes
    if nodes is None:
        raise NotYet(f"the Nodes of cluster {scope.cluster.key} cannot be deleted now")
    client = scope.tools.remote.client(scope.cluster.key)
    for ref in scope.pool.status.node_refs:
        node = nodes.raw(Key("", ref.name))
        if node is not None and node["metadata"]["uid"] == ref.uid:
            await delete_node(client, node)
