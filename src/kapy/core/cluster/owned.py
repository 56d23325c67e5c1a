"""The objects that a Cluster refers to: read, and made the Cluster's own."""

from __future__ import annotations

from typing import TypeVar

from kapy.api.embedded import APIEndpoint, ContractVersionedObjectReference
from kapy.contract.fields import View
from kapy.contract.observed import Found, Observed, Unreadable
from kapy.contract.ownership import claim, ownership_patch
from kapy.core.cluster.scope import ClusterScope
from kapy.kube import Document
from kapy.kube.errors import KapyError, NotFound
from kapy.kube.meta import owner_reference

V = TypeVar("V", bound=View)


async def owned(
    scope: ClusterScope, ref: ContractVersionedObjectReference, view: type[V]
) -> Observed[V]:
    """The object that the Cluster refers to, owned by the Cluster and labelled with its name.

    With a managed topology the Cluster is its controller; otherwise it leaves room for somebody
    else's.
    """
    cluster, tools = scope.cluster, scope.tools
    found = await tools.external.get(ref, scope.namespace, view)
    if not isinstance(found, Found):
        return found
    managed = cluster.spec.topology is not None
    owner = owner_reference(cluster, controller=managed, block_deletion=managed or None)

    def patch(document: Document) -> Document:
        return ownership_patch(document, owner, cluster=cluster.metadata.name)

    document = found.view.document
    if not patch(document):
        return found
    try:
        resource = await tools.external.resource_of(document)
        document = await claim(tools.client, resource, document, patch)
    except NotFound:
        return await tools.external.get(ref, scope.namespace, view)
    except KapyError as error:
        return Unreadable(error)
    return Found(view(document, found.view.contract))


def take_endpoint(scope: ClusterScope, endpoint: APIEndpoint | None) -> None:
    """Take over where the control plane is reached, unless it is known already."""
    spec = scope.cluster.spec
    known = spec.control_plane_endpoint
    if not (known.host and known.port) and endpoint is not None:
        spec.control_plane_endpoint = endpoint
