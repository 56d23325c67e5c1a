"""Templates that workers are made of belong to their Cluster."""

from __future__ import annotations

from kapy.api.cluster import Cluster
from kapy.client.client import Client
from kapy.contract.external import External, Reference
from kapy.contract.observed import Found, Observed, Unreadable
from kapy.contract.ownership import claim, ownership_patch
from kapy.contract.templates import SUFFIX, Template
from kapy.kube import Document
from kapy.kube.errors import KapyError, NotFound
from kapy.kube.meta import owner_reference


async def owned_template(
    external: External, client: Client, ref: Reference, cluster: Cluster
) -> Observed[Template]:
    """The template that `ref` names, owned by the Cluster. What is no template is only read."""
    found = await external.get(ref, cluster.metadata.namespace, Template)
    if not isinstance(found, Found) or not ref.kind.endswith(SUFFIX):
        return found
    owner, document = owner_reference(cluster), found.view.document

    def patch(document: Document) -> Document:
        return ownership_patch(document, owner)

    if not patch(document):
        return found
    try:
        resource = await external.resource_of(document)
        document = await claim(client, resource, document, patch)
    except NotFound:
        return await external.get(ref, cluster.metadata.namespace, Template)
    except KapyError as error:
        return Unreadable(error)
    return Found(Template(document, found.view.contract))
