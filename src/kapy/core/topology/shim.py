"""The shim: a Secret that owns new objects of a Cluster until the Cluster itself owns them.

If the Cluster is deleted before it refers to its infrastructure and control plane, they are deleted
with the shim, which the Cluster owns from the beginning.
"""

from __future__ import annotations

from kapy.api.cluster import Cluster
from kapy.api.names import SECRET_TYPE
from kapy.client.client import Client
from kapy.core.topology.planning import Planned
from kapy.kube import Document, Key
from kapy.kube.errors import AlreadyExists, NotFound
from kapy.kube.meta import owner_reference
from kapy.kube.model import encode
from kapy.kube.names import SECRETS
from kapy.topology.names import shim_name
from kapy.topology.state import ClusterState


async def own_new_objects(client: Client, cluster: Cluster, *planned: Planned | None) -> None:
    """Make the shim an owner of the objects to be created."""
    new = [element for element in planned if element is not None and element.creates]
    if not new:
        return
    owner = encode(owner_reference(await _shim(client, cluster)))
    for item in new:
        metadata = item.intent["metadata"]
        owners = [*(metadata.get("ownerReferences") or ()), owner]
        item.intent = {**item.intent, "metadata": {**metadata, "ownerReferences": owners}}


async def release_shim(client: Client, current: ClusterState) -> None:
    """Delete the shim once the Cluster owns everything."""
    infrastructure, control_plane = current.infrastructure_cluster, current.control_plane.object
    if infrastructure is None or control_plane is None:
        return
    cluster = current.cluster
    name, both = shim_name(cluster.metadata.name), (infrastructure, control_plane)
    if not any(_has_owner(item, "Secret", name) for item in both):
        return
    if all(_has_owner(item, "Cluster", cluster.metadata.name) for item in both):
        try:
            await client.delete(SECRETS, Key(cluster.metadata.namespace, name))
        except NotFound:
            return


async def _shim(client: Client, cluster: Cluster) -> Document:
    key = Key(cluster.metadata.namespace, shim_name(cluster.metadata.name))
    shim: Document = {
        "apiVersion": SECRETS.api_version,
        "kind": SECRETS.kind,
        "metadata": {
            "name": key.name,
            "namespace": key.namespace,
            "ownerReferences": [encode(owner_reference(cluster))],
        },
        "type": SECRET_TYPE,
    }
    try:
        return await client.create(SECRETS, shim)
    except AlreadyExists:
        return await client.get(SECRETS, key)


def _has_owner(document: Document, kind: str, name: str) -> bool:
    owners = document["metadata"].get("ownerReferences") or ()
    return any(owner["kind"] == kind and owner["name"] == name for owner in owners)
