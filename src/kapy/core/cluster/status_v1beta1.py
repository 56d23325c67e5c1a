"""The v1beta1 conditions of a Cluster in `status.deprecated` (pure functions).

They show the state at the last reconcile; unreadable parts stay unchanged.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from kapy.api.condition import V1Beta1Condition
from kapy.api.names import Reason
from kapy.api.names_v1beta1 import V1Beta1Reason, V1Beta1Type
from kapy.conditions.lookup import TRUE
from kapy.conditions.v1beta1 import (
    INFO,
    conditions_of,
    false,
    foreign_ready,
    get,
    mirror,
    set_condition,
    summary,
    true,
)
from kapy.contract.control_plane import ControlPlane
from kapy.contract.errors import ContractError
from kapy.contract.fields import Field
from kapy.contract.infra_cluster import InfraCluster
from kapy.contract.observed import Absent, Found, Observed
from kapy.core.cluster.scope import ClusterScope

SUMMARIZED: Final = (V1Beta1Type.CONTROL_PLANE_READY, V1Beta1Type.INFRASTRUCTURE_READY)
NO_NODE: Final = "Waiting for the first control plane machine to have its status.nodeRef set"
NOT_INITIALIZED: Final = (
    "Waiting for control plane provider to indicate the control plane has been initialized"
)


class _MirrorMessages(NamedTuple):
    """The texts of one mirrored condition.

    waiting: the reason of the condition until the object is complete. before: the kinds of objects
    whose deletion comes first.
    """

    target: str
    waiting: str
    before: tuple[str, ...]


_INFRASTRUCTURE: Final = _MirrorMessages(
    V1Beta1Type.INFRASTRUCTURE_READY,
    V1Beta1Reason.WAITING_FOR_INFRASTRUCTURE,
    (Reason.WAITING_FOR_WORKERS_DELETION, Reason.WAITING_FOR_CONTROL_PLANE_DELETION),
)
_CONTROL_PLANE: Final = _MirrorMessages(
    V1Beta1Type.CONTROL_PLANE_READY,
    V1Beta1Reason.WAITING_FOR_CONTROL_PLANE,
    (Reason.WAITING_FOR_WORKERS_DELETION,),
)


def update_v1beta1_status(scope: ClusterScope) -> None:
    """Write the v1beta1 conditions: the parts, then their summary Ready."""
    legacy = conditions_of(scope.cluster)
    for condition in (
        _infrastructure_ready(scope),
        _mirror_observed(scope, scope.control_plane, ControlPlane.initialized, _CONTROL_PLANE),
    ):
        set_condition(legacy, condition, scope.now)
    initialized = get(legacy, V1Beta1Type.CONTROL_PLANE_INITIALIZED)
    if initialized is None or initialized.status != TRUE:
        set_condition(legacy, _control_plane_initialized(scope), scope.now)
    set_condition(legacy, summary(legacy, SUMMARIZED), scope.now)


def _infrastructure_ready(scope: ClusterScope) -> V1Beta1Condition | None:
    cluster = scope.cluster
    if cluster.spec.infrastructure_ref is None:
        nothing_to_wait_for = not (cluster.deleting or scope.awaits_topology)
        return true(_INFRASTRUCTURE.target) if nothing_to_wait_for else None
    return _mirror_observed(scope, scope.infrastructure, InfraCluster.provisioned, _INFRASTRUCTURE)


def _mirror_observed(
    scope: ClusterScope, observed: Observed[Any], field: Field[bool], words: _MirrorMessages
) -> V1Beta1Condition | None:
    """Return the condition that mirrors the Ready condition of a provider's object; None leaves it
    unchanged. field: the field that reports completion if the object has no conditions.
    """
    deleting = scope.cluster.deleting
    if isinstance(observed, Found):
        try:
            done = field.read(observed.view)
        except ContractError:
            return None
        fallback = true(words.target) if done else false(words.target, words.waiting, INFO)
        if deleting:
            fallback = false(words.target, V1Beta1Reason.DELETING, INFO)
        return mirror(foreign_ready(observed.view.document), words.target, fallback)
    if deleting and isinstance(observed, Absent) and scope.deleting[0] not in words.before:
        return false(words.target, V1Beta1Reason.DELETED, INFO)
    return None


def _control_plane_initialized(scope: ClusterScope) -> V1Beta1Condition | None:
    of, cluster = V1Beta1Type.CONTROL_PLANE_INITIALIZED, scope.cluster
    if cluster.spec.control_plane_ref is None:
        return (
            None
            if cluster.deleting or scope.awaits_topology
            else _initialization_without_provider(scope)
        )
    if not isinstance(scope.control_plane, Found) or scope.control_plane.view.deleting:
        return None
    try:
        initialized = scope.control_plane.view.initialized
    except ContractError:
        return None
    if initialized:
        return true(of)
    reason = V1Beta1Reason.WAITING_FOR_CONTROL_PLANE_PROVIDER_INITIALIZED
    return false(of, reason, INFO, NOT_INITIALIZED)


def _initialization_without_provider(scope: ClusterScope) -> V1Beta1Condition:
    of = V1Beta1Type.CONTROL_PLANE_INITIALIZED
    active = [machine for machine in scope.descendants.control_plane if not machine.deleting]
    if any(machine.status.node_ref is not None for machine in active):
        return true(of)
    return false(of, V1Beta1Reason.MISSING_NODE_REF, INFO, NO_NODE)
