"""Adds the KubeadmControlPlane controller to a plane or to its manager."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kapy.apps.doors import Doors
from kapy.apps.settings import Controlling
from kapy.engine.runtime import Runtime
from kapy.providers.kubeadm.controlplane.controller import add_to as add_control_planes
from kapy.remote.cluster_cache import ClusterCache

if TYPE_CHECKING:
    from kapy.apps.control_plane_pods import Pods


def add_kubeadm_control_planes(
    runtime: Runtime,
    cluster_cache: ClusterCache,
    told: Controlling,
    doors: Doors | None,
    pods: Pods,
) -> None:
    """Add the controller of KubeadmControlPlanes. pods: reaches their etcd and API servers."""
    updates = None if doors is None else doors.updates
    controller = add_control_planes(
        runtime,
        cluster_cache,
        etcd_dial=pods.etcd,
        certificate_expiry=pods.certificate_expiry,
        grace=told.conditions_grace,
        updates=updates,
    )
    if updates is not None:
        updates.wake(control_planes=controller.enqueue)
