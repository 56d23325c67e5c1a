"""Phase: delete a Cluster: workers, then the control plane, then the infrastructure."""

from __future__ import annotations

from collections.abc import Iterable

from kapy.api.cluster import Cluster
from kapy.api.names import Annotation, Finalizer, Reason
from kapy.api.wording import shorten
from kapy.contract.fields import View
from kapy.contract.observed import Absent, Observed, Unreadable, read_error_reason
from kapy.core.cluster.scope import ClusterScope, Descendants, is_owned_by
from kapy.engine.result import DONE, Result
from kapy.kube import Key
from kapy.kube.errors import KapyError, NotFound
from kapy.kube.meta import Object


async def reconcile_delete(scope: ClusterScope) -> Result:
    """Delete the next objects, or remove the finalizer. Everything that it waits for is watched."""
    cluster = scope.cluster
    if scope.dependencies.has_delete_hooks and not _may_be_deleted(cluster):
        scope.set_deleting_condition(
            Reason.WAITING_FOR_BEFORE_DELETE_HOOK, "Waiting for BeforeClusterDelete hook"
        )
        return DONE
    try:
        await _delete_children(scope)
        if names := names_left(scope):
            message = "\n".join(f"* {line}" for line in names)
            scope.set_deleting_condition(Reason.WAITING_FOR_WORKERS_DELETION, message)
            return DONE
        for observed, reason in (
            (scope.control_plane, Reason.WAITING_FOR_CONTROL_PLANE_DELETION),
            (scope.infrastructure, Reason.WAITING_FOR_INFRASTRUCTURE_DELETION),
        ):
            if not await _is_gone(scope, observed, reason):
                return DONE
    except KapyError as error:
        scope.set_deleting_condition(Reason.INTERNAL_ERROR, read_error_reason(error))
        raise
    scope.set_deleting_condition(Reason.DELETION_COMPLETED, "Deletion completed")
    finalizers = cluster.metadata.finalizers
    finalizers[:] = [finalizer for finalizer in finalizers if finalizer != Finalizer.CLUSTER]
    message = f"Cluster {cluster.metadata.name} has been deleted"
    scope.dependencies.events.normal(cluster, "Deleted", message)
    return DONE


def _may_be_deleted(cluster: Cluster) -> bool:
    """Return whether no hook blocks the deletion; the topology controller calls the hooks."""
    return cluster.spec.topology is None or Annotation.OK_TO_DELETE in cluster.metadata.annotations


def owned_children(scope: ClusterScope) -> Iterable[Object]:
    """Return the objects that the Cluster itself has to delete; garbage collection deletes the
    rest.

    Control plane Machines are deleted by their provider, after the workers are gone.
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
    return [child for child in children if is_owned_by(child, cluster)]


def names_left(scope: ClusterScope) -> list[str]:
    """Return the names of the objects that block the control plane's deletion, one line
    per kind.
    """
    descendants: Descendants = scope.descendants
    kinds: list[tuple[str, Iterable[Object]]] = [
        ("MachineDeployments", descendants.deployments),
        ("MachineSets", descendants.machine_sets),
        ("MachinePools", descendants.pools),
        ("Worker Machines", descendants.workers),
    ]
    if scope.cluster.spec.control_plane_ref is None:
        kinds.insert(0, ("Control plane Machines", descendants.control_plane))
    named = [(kind, sorted(obj.metadata.name for obj in objects)) for kind, objects in kinds]
    return [f"{kind}: {shorten(names, 5)}" for kind, names in named if names]


async def _delete_children(scope: ClusterScope) -> None:
    """Delete all children, even after one failed. Raises the first error."""
    refused: list[KapyError] = []
    for child in owned_children(scope):
        if child.deleting:
            continue
        try:
            await scope.dependencies.client.delete(type(child), child.key, uid=child.metadata.uid)
        except NotFound:
            continue
        except KapyError as error:
            refused.append(error)
    if refused:
        raise refused[0]


async def _is_gone(
    scope: ClusterScope,
    observed: Observed[View],
    reason: str,
) -> bool:
    """Return whether the referenced object is gone; request its deletion if needed."""
    match observed:
        case Absent():
            return True
        case Unreadable(error):
            # The phase that read the object has raised the error already.
            scope.set_deleting_condition(Reason.INTERNAL_ERROR, read_error_reason(error))
            return False
    document = observed.view.document
    if not observed.view.deleting:
        resource = await scope.dependencies.external.resource_of(document)
        uid = document["metadata"]["uid"]
        try:
            await scope.dependencies.client.delete(resource, Key.of(document), uid=uid)
        except NotFound:
            return True
    scope.set_deleting_condition(reason, f"Waiting for {observed.view.kind} to be deleted")
    return False
