"""Handles a workload cluster that cannot be reached: which steps wait, and how it is reported."""

from __future__ import annotations

import logging
from typing import Final

from kapy.providers.kubeadm.controlplane.dependencies import Dependencies
from kapy.providers.kubeadm.controlplane.scope import ControlPlane
from kapy.remote.cluster_cache import ATTEMPTS, NotConnected
from kapy.sdk.machine_control_plane import waits_for_hook

log = logging.getLogger(__name__)

UNRECOVERABLE: Final = (
    "no control plane Machine is left that another one could join, and etcd's data went with the"
    " last one: delete the Cluster and create it again"
)


def report_missing_connection(
    dependencies: Dependencies, plane: ControlPlane, error: NotConnected
) -> None:
    """Record what the next step waits for. An event and a log line report it once, unless the
    connection may be restored at any moment."""
    plane.not_connected = str(error)
    if not _waits(plane):
        return  # conditions report the connection; no step waits for it
    if dependencies.remote.health(plane.cluster.key).failures < ATTEMPTS:
        return
    text = "; ".join(blockers(plane))
    if dependencies.cache.last_event.get(plane.kcp.key) == text:
        return
    dependencies.cache.last_event[plane.kcp.key] = text
    log.warning("KubeadmControlPlane %s: %s", plane.kcp.key, text)
    dependencies.recorder.warning(
        plane.kcp, "ControlPlaneUnreachable", f"Waiting to continue: {text}"
    )


def _waits(plane: ControlPlane) -> bool:
    """Return whether a step waits for the connection: to scale, to roll out, or to let a drained
    Machine go, whose etcd member leaves first.
    """
    return (
        len(plane.machines) != plane.desired_replicas
        or bool(plane.machines_to_replace)
        or any(map(waits_for_hook, plane.machines))
    )


def blockers(plane: ControlPlane) -> list[str]:
    """Return the reasons for which the control plane cannot take its next step without the
    connection.
    """
    if not plane.not_connected:
        return []
    result = [f"the workload cluster cannot be reached ({plane.not_connected})"]
    return [*result, UNRECOVERABLE] if plane.is_unrecoverable else result
