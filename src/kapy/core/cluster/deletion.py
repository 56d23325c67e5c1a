"""Phase: a Cluster goes away: workers, then the control plane, then the infrastructure."""

from __future__ import annotations

from collections.abc import Iterable

from kapy.api.cluster import Cluster
from kapy.api.names import Annotation, Finalizer, Reason
from kapy.api.wording import shortened
from kapy.contract.fields import View
from kapy.contract.observed import Absent, Observed, Unreadable, because
from kapy.core.cluster.scope import ClusterScope, Descendants, is_owned_by
from kapy.engine.result import DONE, Result
from kapy.kube import Key
from kapy.kube.errors import KapyError, NotFound
from kapy.kube.meta import Object


async def reconcile_delete(scope: ClusterScope) -> Result:
    """Delete what is next, or let the Cluster go. All that is waited for is watched."""
    cluster = scope.cluster
    if scope.tools.asks_first and not _may_go(cluster):
        scope.waits(Reason.WAITING_FOR_BEFORE_DELETE_HOOK, "Waiting for BeforeClusterDelete hook")
        return DONE
    try:
        await _delete_children(scope)
        if left := names_left(scope):
            message = "\n".join(f"* {line}" for line in left)
            scope.waits(Reason.WAITING_FOR_WORKERS_DELETION, message)
            return DONE
        for observed, reason in (
            (scope.control_plane, Reason.WAITING_FOR_CONTROL_PLANE_DELETION),
            (scope.infrastructure, Reason.WAITING_FOR_INFRASTRUCTURE_DELETION),
        ):
            if not await _gone(scope, observed, reason):
                return DONE
    except KapyError as error:
        scope.waits(Reason.INTERNAL_ERROR, because(error))
        raise
    scope.waits(Reason.DELETION_COMPLETED, "Deletion completed")
    finalizers = cluster.metadata.finalizers
    finalizers[:] = [one for one in finalizers if one != Finalizer.CLUSTER]
    message = f"Cluster {cluster.metadata.name} has been deleted"
    scope.tools.events.normal(cluster, "Deleted", message)
    return DONE


def _may_go(cluster: Cluster) -> bool:
    """Whether no extension holds it any more; its topology's controller asks them."""
    return cluster.spec.topology is None or Annotation.OK_TO_DELETE in cluster.metadata.annotations


def owned_children(scope: ClusterScope) -> Iterable[Object]:
    """What the Cluster itself has to delete; the rest goes with what owns it.

    Machines of a control plane are its provider's business, which begins when workers are gone.
    """
    cluster, descendants = scope.cluster, scope.descendants
    children: list[Object] = [
        *descendants.pools,
        *descendants.deployments,
        *descendants.machine_sets,
        *descendants.workers,
    ]
    if cluster.spec.control_plane_ref is None:
        children += descendants.control_plane
    return [one for one in children if is_owned_by(one, cluster)]


def names_left(scope: ClusterScope) -> list[str]:
    """What must go before the control plane may, one line a kind."""
    left: Descendants = scope.descendants
    kinds: list[tuple[str, Iterable[Object]]] = [
        ("MachineDeployments", left.deployments),
        ("MachineSets", left.machine_sets),
        ("MachinePools", left.pools),
        ("Worker Machines", left.workers),
    ]
    if scope.cluster.spec.control_plane_ref is None:
        kinds.insert(0, ("Control plane Machines", left.control_plane))
    named = [(kind, sorted(one.metadata.name for one in objects)) for kind, objects in kinds]
    return [f"{kind}: {shortened(names, 5)}" for kind, names in named if names]


async def _delete_children(scope: ClusterScope) -> None:
    """Ask all to go, also after one was refused. Raises the first refusal."""
    refused: list[KapyError] = []
    for child in owned_children(scope):
        if child.deleting:
            continue
        try:
            await scope.tools.client.delete(type(child), child.key, uid=child.metadata.uid)
        except NotFound:
            continue
        except KapyError as error:
            refused.append(error)
    if refused:
        raise refused[0]


async def _gone(
    scope: ClusterScope,
    observed: Observed[View],
    reason: str,
) -> bool:
    """Whether the object that the Cluster refers to is gone; it is asked to go if need be."""
    match observed:
        case Absent():
            return True
        case Unreadable(error):
            # The phase that read it has raised the error already.
            scope.waits(Reason.INTERNAL_ERROR, because(error))
            return False
    document = observed.view.document
    if not observed.view.deleting:
        resource = await scope.tools.external.resource_of(document)
        uid = document["metadata"]["uid"]
        try:
            await scope.tools.client.delete(resource, Key.of(document), uid=uid)
        except NotFound:
            return True
    scope.waits(reason, f"Waiting for {observed.view.kind} to be deleted")
    return False
