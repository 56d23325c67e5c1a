"""Phase: a set that goes is forgotten in the bindings. What it put into clusters stays there."""

from __future__ import annotations

from kapy.api.cluster_resource_set_binding import ClusterResourceSetBinding
from kapy.contract.ownership import claim
from kapy.core.clusterresourceset.binding import binding_patch, released
from kapy.core.clusterresourceset.scope import SetScope
from kapy.kube import Key
from kapy.kube.errors import NotFound


async def withdraw(scope: SetScope) -> None:
    """Take the set out of the bindings of the Clusters that it selects; a binding of which nothing
    is left goes too. Bindings of Clusters that it no longer selects keep it, as upstream's do."""
    for cluster in scope.clusters:
        try:
            await _withdraw(scope, cluster)
        except NotFound:
            continue


async def _withdraw(scope: SetScope, cluster: Key) -> None:
    tools, resource = scope.tools, ClusterResourceSetBinding.RESOURCE
    document = tools.bindings.raw(cluster)
    if document is None:
        return
    name = scope.set.metadata.name
    bindings = document["spec"].get("bindings") or ()
    if all(one["clusterResourceSetName"] == name for one in bindings):
        await tools.client.delete(resource, cluster, uid=document["metadata"]["uid"])
        return
    change = released(name)
    await claim(tools.client, resource, document, lambda one: binding_patch(one, change))
