"""Read the objects that a Cluster refers to, and set their ownership."""

from __future__ import annotations

from typing import Final, TypeVar

from kapy.api.cluster import ClusterDeprecatedStatus, ClusterV1Beta1DeprecatedStatus
from kapy.api.embedded import ContractVersionedObjectReference
from kapy.contract.control_plane import ControlPlane
from kapy.contract.errors import NotServed
from kapy.contract.fields import View
from kapy.contract.infra_cluster import InfraCluster
from kapy.contract.observed import Absent, Observed, Unreadable
from kapy.contract.ownership import ownership_patch
from kapy.core.cluster.scope import ClusterScope
from kapy.kube import Document
from kapy.kube.meta import owner_reference

V = TypeVar("V", bound=View)

MAX_MESSAGE: Final = 10240  # limit of failureMessage in the schema


async def get_owned(
    scope: ClusterScope, ref: ContractVersionedObjectReference, view: type[V]
) -> Observed[V]:
    """Return the object that the Cluster refers to, owned by the Cluster and labelled with its
    name.

    With a managed topology the Cluster is its controller; otherwise another controller is possible.
    A Cluster in deletion sets no ownership.
    """
    cluster, external = scope.cluster, scope.dependencies.external
    if cluster.deleting:
        return _or_absent_without_definition(await external.get(ref, scope.namespace, view))
    managed = cluster.spec.topology is not None
    owner = owner_reference(cluster, controller=managed, block_deletion=managed or None)

    def patch(document: Document) -> Document:
        return ownership_patch(document, owner, cluster=cluster.metadata.name)

    return await external.get_owned(ref, scope.namespace, view, patch)


def _or_absent_without_definition(observed: Observed[V]) -> Observed[V]:
    """Return Absent if the kind is no longer served: with a CRD all its objects are deleted."""
    match observed:
        case Unreadable(NotServed()):
            return Absent()
    return observed


def copy_endpoint(scope: ClusterScope, view: InfraCluster | ControlPlane) -> None:
    """Copy the control plane endpoint, unless it is set. Raises WrongType."""
    spec = scope.cluster.spec
    current = spec.control_plane_endpoint
    if current.host and current.port:
        return
    endpoint = view.control_plane_endpoint
    if endpoint is not None:
        spec.control_plane_endpoint = endpoint


def copy_failures(scope: ClusterScope, view: InfraCluster | ControlPlane) -> None:
    """Copy the terminal failure that a v1beta1 provider reports; it is never unset.

    Raises WrongType.
    """
    reason, message = view.failure_reason, view.failure_message
    if not (reason or message):
        return
    status = scope.cluster.status
    status.deprecated = status.deprecated or ClusterDeprecatedStatus()
    v1beta1 = status.deprecated.v1beta1 = (
        status.deprecated.v1beta1 or ClusterV1Beta1DeprecatedStatus()
    )
    if reason:
        v1beta1.failure_reason = reason
    if message:
        it = f'{view.document["apiVersion"]}, Kind={view.kind} with name "{view.name}"'
        text = f"Failure detected from referenced resource {it}: {message}"
        v1beta1.failure_message = text[:MAX_MESSAGE]
