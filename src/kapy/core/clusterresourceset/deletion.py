"""Phase: remove a deleted ClusterResourceSet from the bindings. Its objects stay in the
clusters.
"""

from __future__ import annotations

from kapy.api.cluster_resource_set_binding import ClusterResourceSetBinding
from kapy.contract.ownership import claim
from kapy.core.clusterresourceset.binding import binding_patch, binding_without
from kapy.core.clusterresourceset.scope import SetScope
from kapy.kube import Key
from kapy.kube.errors import NotFound


async def unbind_set(scope: SetScope) -> None:
    """Remove the set from the bindings of the Clusters that it selects, and delete empty bindings.
    As in upstream, bindings of Clusters that it no longer selects are unchanged.
    """
    for cluster in scope.clusters:
        try:
            await _unbind(scope, cluster)
        except NotFound:
            continue


async def _unbind(scope: SetScope, cluster: Key) -> None:
    dependencies, resource = scope.dependencies, ClusterResourceSetBinding.RESOURCE
    document = dependencies.bindings.raw(cluster)
    if document is None:
        return
    name = scope.set.metadata.name
    bindings = document["spec"].get("bindings") or ()
    if all(binding["clusterResourceSetName"] == name for binding in bindings):
        await dependencies.client.delete(resource, cluster, uid=document["metadata"]["uid"])
        return
    change = binding_without(name)
    await claim(dependencies.client, resource, document, lambda value: binding_patch(value, change))
