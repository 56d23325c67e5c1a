"""The v1beta1 conditions of a MachinePool in `status.deprecated` (pure functions).

`nodes` sets the counters there, `references` copies the failures. Unreadable parts stay unchanged.
"""

from __future__ import annotations

from typing import Final

from kapy.api.condition import V1Beta1Condition
from kapy.api.names_v1beta1 import V1Beta1Reason, V1Beta1Type
from kapy.conditions.v1beta1 import (
    ERROR,
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
from kapy.contract.fields import View
from kapy.contract.observed import Absent, Found
from kapy.core.machinepool.scope import MachinePoolScope

SUMMARIZED: Final = (
    V1Beta1Type.BOOTSTRAP_READY,
    V1Beta1Type.INFRASTRUCTURE_READY,
    V1Beta1Type.REPLICAS_READY,
)


def update_v1beta1_status(scope: MachinePoolScope) -> None:
    """Write the v1beta1 conditions: the parts, then their summary Ready."""
    legacy = conditions_of(scope.pool)
    if not scope.pool.deleting:
        for beta1_condition in (
            _bootstrap_ready(scope),
            _infrastructure_ready(scope),
            _replicas_ready(scope),
        ):
            set_condition(legacy, beta1_condition, scope.now)
    set_condition(legacy, summary(legacy, SUMMARIZED), scope.now)


def _bootstrap_ready(scope: MachinePoolScope) -> V1Beta1Condition | None:
    of, bootstrap = V1Beta1Type.BOOTSTRAP_READY, scope.pool.spec.template.spec.bootstrap
    done = bool(scope.pool.status.initialization.bootstrap_data_secret_created)
    if bootstrap.config_ref is None:
        return true(of) if done else None
    match scope.bootstrap:
        case Found(view, None) if not view.deleting:
            return _mirror_view(view, of, V1Beta1Reason.WAITING_FOR_DATA_SECRET, done=done)
    return None


def _infrastructure_ready(scope: MachinePoolScope) -> V1Beta1Condition | None:
    of, ref = V1Beta1Type.INFRASTRUCTURE_READY, scope.pool.spec.template.spec.infrastructure_ref
    done = bool(scope.pool.status.initialization.infrastructure_provisioned)
    match scope.infrastructure:
        case Found(view, None) if not view.deleting:
            return _mirror_view(view, of, V1Beta1Reason.WAITING_FOR_INFRASTRUCTURE, done=done)
        case Absent():
            message = f"could not find infra reference of kind {ref.kind} with name {ref.name}"
            return false(of, V1Beta1Reason.INCORRECT_EXTERNAL_REF, ERROR, message)
    return None


def _mirror_view(view: View, of: str, waiting: str, *, done: bool) -> V1Beta1Condition | None:
    fallback = true(of) if done else false(of, waiting, INFO)
    return mirror(foreign_ready(view.document), of, fallback)


def _replicas_ready(scope: MachinePoolScope) -> V1Beta1Condition | None:
    """Return whether each machine has a ready Node; None before the first Node."""
    of, pool, legacy = V1Beta1Type.REPLICAS_READY, scope.pool, scope.legacy
    refs, ids = pool.status.node_refs, pool.spec.provider_id_list
    unknown_ids = not ids and pool.spec.replicas != 0
    none_yet = not refs and get(legacy.conditions, of) is None
    if scope.nodes is None or (none_yet and ids):
        return None
    if legacy.ready_replicas == (pool.status.replicas or 0) == len(refs):
        return true(of)
    return None if unknown_ids else false(of, V1Beta1Reason.WAITING_FOR_REPLICAS_READY, INFO)
