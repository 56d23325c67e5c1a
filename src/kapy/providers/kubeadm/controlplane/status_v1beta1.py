"""The v1beta1 status of a KubeadmControlPlane (pure functions).

Conditions about steps (certificates, creation, rollout) are written by these steps. This module
writes the conditions that follow from the findings of the whole reconcile.
"""

from __future__ import annotations

from typing import Final

from kapy.api.kubeadm_control_plane import KubeadmControlPlaneV1Beta1DeprecatedStatus
from kapy.api.machine import Machine
from kapy.api.names import ConditionType
from kapy.api.names_v1beta1 import V1Beta1Reason as R
from kapy.api.names_v1beta1 import V1Beta1Type as T
from kapy.kube import Document
from kapy.providers.kubeadm.controlplane.scope import ControlPlane, is_true, v1beta1_conditions_of
from kapy.sdk import v1beta1

_SUMMARIZED: Final = (
    T.MACHINES_CREATED,
    T.MACHINES_SPEC_UP_TO_DATE,
    T.RESIZED,
    T.MACHINES_READY,
    T.AVAILABLE,
    T.CERTIFICATES_AVAILABLE,
)


def set_status_v1beta1(plane: ControlPlane) -> None:
    """Write counters and conditions."""
    legacy = v1beta1.conditions_of(plane.kcp)
    _count(plane)
    sources = [
        (
            v1beta1.get(v1beta1_conditions_of(machine), v1beta1.READY),
            Machine.RESOURCE.kind,
            machine.metadata.name,
        )
        for machine in plane.machines
    ]
    plane.set_v1beta1(v1beta1.aggregate(sources, T.MACHINES_READY))
    if not plane.kcp.deleting:
        _set_resized(plane)
        if plane.is_initialized:
            plane.set_v1beta1(v1beta1.true(T.AVAILABLE))
    plane.set_v1beta1(v1beta1.summary(legacy, _SUMMARIZED))


def _count(plane: ControlPlane) -> None:
    """Set the v1beta1 counters; in v1beta1 a replica is ready if its Node is ready."""
    deprecated = plane.kcp.status.deprecated
    assert deprecated is not None
    counters = deprecated.v1beta1
    assert isinstance(counters, KubeadmControlPlaneV1Beta1DeprecatedStatus)
    if plane.is_observed or plane.kcp.deleting:
        nodes = {} if plane.kcp.deleting or plane.nodes is None else plane.nodes
        counters.ready_replicas = sum(map(_is_ready, nodes.values()))
    counters.unavailable_replicas = len(plane.machines) - counters.ready_replicas
    counters.updated_replicas = sum(not plane.is_outdated(machine) for machine in plane.machines)


def _is_ready(node: Document) -> bool:
    reported = (node.get("status") or {}).get("conditions") or ()
    return any(item["type"] == "Ready" and item["status"] == "True" for item in reported)


def _set_resized(plane: ControlPlane) -> None:
    current, desired = len(plane.machines), plane.desired_replicas
    if current < desired:
        message = f"Scaling up control plane to {desired} replicas (actual {current})"
        plane.set_v1beta1(v1beta1.false(T.RESIZED, R.SCALING_UP, v1beta1.WARNING, message))
        return
    if current > desired:
        message = f"Scaling down control plane to {desired} replicas (actual {current})"
        plane.set_v1beta1(v1beta1.false(T.RESIZED, R.SCALING_DOWN, v1beta1.WARNING, message))
    elif all(is_true(machine, ConditionType.READY) for machine in plane.machines):
        plane.set_v1beta1(v1beta1.true(T.RESIZED))
    plane.set_v1beta1(v1beta1.true(T.MACHINES_CREATED))
