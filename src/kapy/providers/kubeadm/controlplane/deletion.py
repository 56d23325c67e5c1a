"""Deletes the whole control plane: all Machines at once, after the workers."""

from __future__ import annotations

from contextlib import suppress

from kapy.api.machine import Machine
from kapy.api.machine_pool import MachinePool
from kapy.api.names import Finalizer, Reason
from kapy.api.names_v1beta1 import V1Beta1Reason, V1Beta1Type
from kapy.api.wording import LOOK_AT_LOGS, shorten
from kapy.providers.kubeadm.controlplane.dependencies import BY_CLUSTER, Dependencies
from kapy.providers.kubeadm.controlplane.health import observe
from kapy.providers.kubeadm.controlplane.loop import KubeadmLoop
from kapy.providers.kubeadm.controlplane.scope import ControlPlane
from kapy.remote.cluster_cache import NotConnected
from kapy.sdk import (
    DONE,
    Result,
    v1beta1,
)
from kapy.sdk.machine_control_plane import stale_machines


async def delete(dependencies: Dependencies, plane: ControlPlane) -> Result:
    """Return one step of the deletion; the objects that it waits for are watched."""
    if not plane.machines:
        plane.deleting_reason = Reason.DELETION_COMPLETED
        plane.deleting_message = "Deletion completed"
        finalizers = plane.kcp.metadata.finalizers
        finalizers[:] = [
            finalizer for finalizer in finalizers if finalizer != Finalizer.KUBEADM_CONTROL_PLANE
        ]
        return DONE
    with suppress(NotConnected):  # the cluster may be partly deleted already
        await observe(dependencies, plane)
    workers = _workers(dependencies, plane)
    if workers:
        plane.deleting_reason = Reason.WAITING_FOR_WORKERS_DELETION
        plane.deleting_message = (
            "KubeadmControlPlane deletion blocked because following objects still exist:\n"
            + "\n".join(f"* {worker}" for worker in workers)
        )
        _report_v1beta1(plane, "Waiting for worker nodes to be deleted first")
        return DONE
    await _delete_all(dependencies, plane)
    _report_v1beta1(plane, "")
    count, stale = len(plane.machines), stale_machines(plane.machines, plane.now)
    message = f"Deleting {count} Machine{'' if count == 1 else 's'}"
    plane.deleting_reason = Reason.WAITING_FOR_MACHINE_DELETION
    plane.deleting_message = f"{message} and {stale}" if stale else message
    return DONE


async def _delete_all(dependencies: Dependencies, plane: ControlPlane) -> None:
    """Delete all Machines; etcd membership is not maintained any more."""
    errors = await KubeadmLoop(dependencies, plane).delete_all()
    if not errors:
        return
    plane.deleting_reason = Reason.INTERNAL_ERROR
    plane.deleting_message = LOOK_AT_LOGS
    result = "; ".join(map(str, errors))
    dependencies.recorder.warning(
        plane.kcp,
        "FailedDelete",
        f"Failed to delete control plane Machines for cluster {plane.cluster.key} control plane:"
        f" {result}",
    )
    raise ExceptionGroup("control plane Machines could not be deleted", errors)


def _report_v1beta1(plane: ControlPlane, message: str) -> None:
    reason = V1Beta1Reason.DELETING
    plane.set_v1beta1(v1beta1.false(V1Beta1Type.RESIZED, reason, v1beta1.INFO, message))


def _workers(dependencies: Dependencies, plane: ControlPlane) -> list[str]:
    """Return the cluster's MachinePools, and its Machines that the control plane does not own."""
    cache, cluster = dependencies.runtime.cache, str(plane.cluster.key)
    ours = {machine.metadata.uid for machine in plane.machines}
    machines = cache.informer(Machine.RESOURCE).list_by_index(BY_CLUSTER, cluster)
    result = {
        "MachinePools": cache.informer(MachinePool.RESOURCE).list_by_index(BY_CLUSTER, cluster),
        "Machines": [machine for machine in machines if machine["metadata"]["uid"] not in ours],
    }
    return [
        f"{kind}: {shorten(sorted(obj['metadata']['name'] for obj in objects), 5)}"
        for kind, objects in result.items()
        if objects
    ]
