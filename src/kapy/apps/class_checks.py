"""Validation of Clusters and ClusterClasses that reads other objects, as in upstream's webhooks."""

from __future__ import annotations

from collections.abc import Sequence

from kapy.api.cluster import Cluster
from kapy.api.cluster_class import ClusterClass
from kapy.apiserver.admission.plugin import Review
from kapy.client.client import Client
from kapy.core.cluster.admission import topology_defaults, topology_findings
from kapy.core.clusterclass.admission import change_errors, deletion_problem
from kapy.kube import Document
from kapy.kube.field_errors import FieldError
from kapy.kube.meta import read


async def apply_class_defaults(
    client: Client, review: Review, document: Document
) -> tuple[Document, Sequence[FieldError]]:
    """A Cluster with the defaults of its class; other kinds are unchanged."""
    if review.resource != Cluster.RESOURCE:
        return document, ()
    return await topology_defaults(client, document, review.old)


async def validate_class_usage(
    client: Client, review: Review
) -> tuple[Sequence[FieldError], Sequence[str]]:
    """Errors and warnings for a Cluster by its class, or for a ClusterClass by its Clusters. There
    are none for other kinds."""
    if review.resource == Cluster.RESOURCE and review.new is not None:
        old = read(review.old, Cluster) if review.old is not None else None
        return await topology_findings(client, read(review.new, Cluster), old)
    changed = review.new is not None and review.old is not None
    if review.resource == ClusterClass.RESOURCE and changed:
        before, after = (read(item or {}, ClusterClass) for item in (review.old, review.new))
        return await change_errors(client, before, after), ()
    return (), ()


async def deletion_refusal(client: Client, review: Review) -> str:
    """The reason for which an object cannot be deleted; "" if it can."""
    if review.resource != ClusterClass.RESOURCE or review.old is None:
        return ""
    return await deletion_problem(client, read(review.old, ClusterClass))
