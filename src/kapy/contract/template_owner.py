"""Make the Cluster an owner of the templates of its workers."""

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
    """Return the template that `ref` names, owned by the Cluster. An object that is no template is
    only read.
    """
    namespace, owner = cluster.metadata.namespace, owner_reference(cluster)
    if not ref.kind.endswith(SUFFIX):
        return await external.get(ref, namespace, Template)
    return await external.get_owned(
        ref, namespace, Template, lambda document: ownership_patch(document, owner)
    )
