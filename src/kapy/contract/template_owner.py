"""Templates that workers are made of belong to their Cluster."""

from __future__ import annotations

from kapy.api.cluster import Cluster
from kapy.contract.external import External, Reference
from kapy.contract.observed import Observed
from kapy.contract.ownership import ownership_patch
from kapy.contract.templates import SUFFIX, Template
from kapy.kube.meta import owner_reference


async def owned_template(
    external: External, ref: Reference, cluster: Cluster
) -> Observed[Template]:
    """The template that `ref` names, owned by the Cluster. What is no template is only read."""
    namespace, owner = cluster.metadata.namespace, owner_reference(cluster)
    if not ref.kind.endswith(SUFFIX):
        return await external.get(ref, namespace, Template)
    return await external.owned(
        ref, namespace, Template, lambda document: ownership_patch(document, owner)
    )
