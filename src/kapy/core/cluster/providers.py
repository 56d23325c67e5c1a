"""Phases: reconcile the infrastructure (InfraCluster contract) and the control plane (ControlPlane
contract) of a Cluster.

The Cluster refers to these objects of providers, and owns them.
"""

from __future__ import annotations

from typing import Final, TypeVar

from kapy.api.cluster import ClusterDeprecatedStatus, ClusterV1Beta1DeprecatedStatus
from kapy.api.embedded import ContractVersionedObjectReference
from kapy.contract.control_plane import ControlPlane
from kapy.contract.errors import ContractError, NotServed
from kapy.contract.fields import View
from kapy.contract.infra_cluster import InfraCluster
from kapy.contract.observed import Absent, Found, Observed, Unreadable
from kapy.contract.ownership import ownership_patch
from kapy.core.cluster.scope import ClusterScope
from kapy.engine.result import DONE, Result
from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.kube.meta import owner_reference

_V = TypeVar("_V", bound=View)

_MAX_MESSAGE: Final = 10240  # limit of failureMessage in the schema


class ReferencedObjectDeleted(KapyError):
    """A referenced object that the Cluster needs has been deleted."""


async def reconcile_infrastructure(scope: ClusterScope) -> Result:
    """Own the infrastructure, and copy endpoint and failure domains once it is provisioned.

    If it does not exist yet, its creation enqueues the Cluster. `infrastructureProvisioned` is
    never unset.
    """
    cluster = scope.cluster
    ref, done = cluster.spec.infrastructure_ref, cluster.status.initialization
    if ref is None:
        if not cluster.deleting:
            done.infrastructure_provisioned = True
        return DONE
    scope.infrastructure = await _get_owned(scope, ref, InfraCluster)
    match scope.infrastructure:
        case Unreadable(error):
            raise error
        case Absent() if done.infrastructure_provisioned and not cluster.deleting:
            raise ReferencedObjectDeleted(f"{ref.kind} has been deleted after being provisioned")
        case Found(infra):
            try:
                _copy_failures(scope, infra)
                _take_infrastructure_over(scope, infra)
            except ContractError as error:
                scope.infrastructure = Found(infra, error)
                raise
        case Absent():
            pass
    return DONE


def _take_infrastructure_over(scope: ClusterScope, infra: InfraCluster) -> None:
    cluster = scope.cluster
    done = cluster.status.initialization
    provisioned = infra.provisioned
    if infra.deleting or not (provisioned or done.infrastructure_provisioned):
        return
    _copy_endpoint(scope, infra)
    cluster.status.failure_domains = list(infra.failure_domains or ())
    if not done.infrastructure_provisioned:
        message = f"Cluster {cluster.metadata.name} InfrastructureProvisioned is now True"
        scope.dependencies.events.normal(cluster, "InfrastructureReady", message)
    done.infrastructure_provisioned = True


async def reconcile_control_plane(scope: ClusterScope) -> Result:
    """Own the control plane, and record its initialization, which is never unset.

    If it does not exist yet, its creation enqueues the Cluster.
    """
    cluster = scope.cluster
    ref, done = cluster.spec.control_plane_ref, cluster.status.initialization
    if ref is None:
        return DONE
    scope.control_plane = await _get_owned(scope, ref, ControlPlane)
    match scope.control_plane:
        case Unreadable(error):
            raise error
        case Absent() if done.control_plane_initialized and not cluster.deleting:
            raise ReferencedObjectDeleted(f"{ref.kind} has been deleted after being initialized")
        case Found(control_plane):
            try:
                _copy_failures(scope, control_plane)
                _take_control_plane_over(scope, control_plane)
            except ContractError as error:
                scope.control_plane = Found(control_plane, error)
                raise
        case Absent():
            pass
    return DONE


def _take_control_plane_over(scope: ClusterScope, control_plane: ControlPlane) -> None:
    cluster = scope.cluster
    done = cluster.status.initialization
    initialized = control_plane.initialized
    if control_plane.deleting or not (initialized or done.control_plane_initialized):
        return
    _copy_endpoint(scope, control_plane)
    if not done.control_plane_initialized:
        message = f"Cluster {cluster.metadata.name} ControlPlaneInitialized is now True"
        scope.dependencies.events.normal(cluster, "ControlPlaneInitialized", message)
    done.control_plane_initialized = True


async def _get_owned(
    scope: ClusterScope, ref: ContractVersionedObjectReference, view: type[_V]
) -> Observed[_V]:
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


def _or_absent_without_definition(observed: Observed[_V]) -> Observed[_V]:
    """Return Absent if the kind is no longer served: with a CRD all its objects are deleted."""
    match observed:
        case Unreadable(NotServed()):
            return Absent()
    return observed


def _copy_endpoint(scope: ClusterScope, view: InfraCluster | ControlPlane) -> None:
    """Copy the control plane endpoint, unless it is set. Raises WrongType."""
    spec = scope.cluster.spec
    current = spec.control_plane_endpoint
    if current.host and current.port:
        return
    endpoint = view.control_plane_endpoint
    if endpoint is not None:
        spec.control_plane_endpoint = endpoint


def _copy_failures(scope: ClusterScope, view: InfraCluster | ControlPlane) -> None:
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
        v1beta1.failure_message = text[:_MAX_MESSAGE]
