"""Adds the KubeadmControlPlane controller to a plane or to its manager."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kapy.apps.extension_clients import ExtensionClients
from kapy.apps.settings import ControllerConfig
from kapy.engine.runtime import Runtime
from kapy.providers.kubeadm.controlplane.controller import add_to as add_control_planes
from kapy.remote.cluster_cache import ClusterCache

if TYPE_CHECKING:
    from kapy.apps.control_plane_pods import ControlPlaneAccess


def add_kubeadm_control_planes(
    runtime: Runtime,
    cluster_cache: ClusterCache,
    config: ControllerConfig,
    clients: ExtensionClients | None,
    pods: ControlPlaneAccess,
) -> None:
    """Add the controller of KubeadmControlPlanes to a runtime. pods: connects to the etcd and API
    server Pods of control planes.
    """
    updates = None if clients is None else clients.in_place
    controller = add_control_planes(
        runtime,
        cluster_cache,
        etcd_dial=pods.etcd,
        certificate_expiry=pods.certificate_expiry,
        grace=config.conditions_grace,
        updates=updates,
    )
    if updates is not None:
        updates.wake(control_planes=controller.enqueue)
