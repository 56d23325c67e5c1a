"""Phase: reconcile the control plane of a Cluster (ControlPlane contract)."""

from __future__ import annotations

from kapy.contract.control_plane import ControlPlane
from kapy.contract.errors import ContractError
from kapy.contract.observed import Absent, Found, Unreadable
from kapy.core.cluster.infrastructure import ReferencedObjectDeleted
from kapy.core.cluster.owned import copy_endpoint, copy_failures, get_owned
from kapy.core.cluster.scope import ClusterScope
from kapy.engine.result import DONE, Result


async def reconcile_control_plane(scope: ClusterScope) -> Result:
    """Own the control plane, and record its initialization, which is never unset.

    If it does not exist yet, its creation enqueues the Cluster.
    """
    cluster = scope.cluster
    ref, done = cluster.spec.control_plane_ref, cluster.status.initialization
    if ref is None:
        return DONE
    scope.control_plane = await get_owned(scope, ref, ControlPlane)
    match scope.control_plane:
        case Unreadable(error):
            raise error
        case Absent() if done.control_plane_initialized and not cluster.deleting:
            raise ReferencedObjectDeleted(f"{ref.kind} has been deleted after being initialized")
        case Found(control_plane):
            try:
                copy_failures(scope, control_plane)
                _take_over(scope, control_plane)
            except ContractError as error:
                scope.control_plane = Found(control_plane, error)
                raise
        case Absent():
            pass
    return DONE


def _take_over(scope: ClusterScope, control_plane: ControlPlane) -> None:
    cluster = scope.cluster
    done = cluster.status.initialization
    initialized = control_plane.initialized
    if control_plane.deleting or not (initialized or done.control_plane_initialized):
        return
    copy_endpoint(scope, control_plane)
    if not done.control_plane_initialized:
        message = f"Cluster {cluster.metadata.name} ControlPlaneInitialized is now True"
        scope.dependencies.events.normal(cluster, "ControlPlaneInitialized", message)
    done.control_plane_initialized = True
