"""Phase: reconcile the infrastructure of a Cluster (InfraCluster contract)."""

from __future__ import annotations

from kapy.contract.errors import ContractError
from kapy.contract.infra_cluster import InfraCluster
from kapy.contract.observed import Absent, Found, Unreadable
from kapy.core.cluster.owned import copy_endpoint, copy_failures, get_owned
from kapy.core.cluster.scope import ClusterScope
from kapy.engine.result import DONE, Result
from kapy.kube.errors import KapyError


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
    scope.infrastructure = await get_owned(scope, ref, InfraCluster)
    match scope.infrastructure:
        case Unreadable(error):
            raise error
        case Absent() if done.infrastructure_provisioned and not cluster.deleting:
            raise ReferencedObjectDeleted(f"{ref.kind} has been deleted after being provisioned")
        case Found(infra):
            try:
                copy_failures(scope, infra)
                _take_over(scope, infra)
            except ContractError as error:
                scope.infrastructure = Found(infra, error)
                raise
        case Absent():
            pass
    return DONE


def _take_over(scope: ClusterScope, infra: InfraCluster) -> None:
    cluster = scope.cluster
    done = cluster.status.initialization
    provisioned = infra.provisioned
    if infra.deleting or not (provisioned or done.infrastructure_provisioned):
        return
    copy_endpoint(scope, infra)
    cluster.status.failure_domains = list(infra.failure_domains or ())
    if not done.infrastructure_provisioned:
        message = f"Cluster {cluster.metadata.name} InfrastructureProvisioned is now True"
        scope.dependencies.events.normal(cluster, "InfrastructureReady", message)
    done.infrastructure_provisioned = True
