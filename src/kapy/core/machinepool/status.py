"""The counters, the conditions and the phase of a MachinePool, and its v1beta1 conditions in
`status.deprecated` (pure functions).

Upstream reports only the condition Paused so far. Its contract announces that the provider's Ready
is mirrored; without these conditions, contract violations of a provider would be invisible.

Of the v1beta1 status, `nodes` sets the counters, `providers` copies the failures. Unreadable parts
stay unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kapy.api.condition import Condition, V1Beta1Condition
from kapy.api.embedded import StatusVersion
from kapy.api.machine_pool import MachinePool, MachinePoolStatus
from kapy.api.machines import is_externally_scaled
from kapy.api.names import ConditionType, Reason
from kapy.api.names_v1beta1 import V1Beta1Reason, V1Beta1Type
from kapy.api.versions import sum_by_version, versions_of
from kapy.conditions import v1beta1
from kapy.conditions.change import set_condition
from kapy.conditions.lookup import false, is_true, true, unknown
from kapy.conditions.mirror import mirror_ready
from kapy.conditions.paused import paused_condition
from kapy.contract.fields import View
from kapy.contract.observed import Absent, Found, Observed, Unreadable, contract_violation
from kapy.core.machinepool.scope import MachinePoolScope
from kapy.kube import Key

_SUMMARIZED: Final = (
    V1Beta1Type.BOOTSTRAP_READY,
    V1Beta1Type.INFRASTRUCTURE_READY,
    V1Beta1Type.REPLICAS_READY,
)


def update_status(scope: MachinePoolScope) -> None:
    """Write counters, conditions and phase to the pool's status."""
    pool = scope.pool
    if scope.has_machines is not None:
        _count(scope)
    for condition in _conditions(scope):
        set_condition(pool, condition, scope.now)
    _update_v1beta1_status(scope)
    pool.status.phase = _phase_of(pool)


def _count(scope: MachinePoolScope) -> None:
    """Set the replica counters from the Machines or, if there are none, from the provider's
    machines.
    """
    status = scope.pool.status
    if not scope.has_machines:
        status.ready_replicas = status.available_replicas = status.replicas
        status.up_to_date_replicas = scope.pool.spec.replicas
        if scope.nodes is not None:
            status.versions = sum_by_version(_versions_of_nodes(scope, status))
        return
    machines = [scope.dependencies.fleet.machine_of(machine) for machine in scope.machines]
    of = [machine.status.conditions for machine in machines]
    status.ready_replicas = sum(is_true(item, ConditionType.READY) for item in of)
    status.available_replicas = sum(is_true(item, ConditionType.AVAILABLE) for item in of)
    status.up_to_date_replicas = sum(is_true(item, ConditionType.UP_TO_DATE) for item in of)
    status.versions = versions_of(machines)


def _versions_of_nodes(
    scope: MachinePoolScope, status: MachinePoolStatus
) -> Iterable[StatusVersion]:
    assert scope.nodes is not None
    for ref in status.node_refs:
        node = scope.nodes.raw(Key("", ref.name)) or {}
        info = (node.get("status") or {}).get("nodeInfo") or {}
        yield StatusVersion(version=info.get("kubeletVersion", ""), replicas=1)


def _conditions(scope: MachinePoolScope) -> Iterable[Condition]:
    """Return all conditions that this controller owns; during a deletion only Paused."""
    pool = scope.pool
    yield paused_condition(pool, scope.cluster)
    if pool.deleting:
        return
    spec, done = pool.spec.template.spec, pool.status.initialization
    created, of = bool(done.bootstrap_data_secret_created), ConditionType.BOOTSTRAP_CONFIG_READY
    if spec.bootstrap.config_ref is None:
        yield true(of, Reason.DATA_SECRET_PROVIDED)
    else:
        field = "status.initialization.dataSecretCreated"
        kind = spec.bootstrap.config_ref.kind
        yield _mirror_observed(scope.bootstrap, of, kind, field, done=created)
    field, of = "status.initialization.provisioned", ConditionType.INFRASTRUCTURE_READY
    kind, provisioned = spec.infrastructure_ref.kind, bool(done.infrastructure_provisioned)
    yield _mirror_observed(scope.infrastructure, of, kind, field, done=provisioned)


def _mirror_observed(
    observed: Observed[View], of: str, kind: str, field: str, *, done: bool
) -> Condition:
    if problem := contract_violation(observed):
        return unknown(of, Reason.INTERNAL_ERROR, problem)
    match observed:
        case Found(view):
            return mirror_ready(view.document, of, done=done, field=field)
        case Unreadable(error):
            return unknown(of, Reason.INTERNAL_ERROR, str(error))
    if done:
        message = f"{kind} has been deleted while the MachinePool still exists"
        return false(of, Reason.OBJECT_DELETED, message)
    return false(of, Reason.OBJECT_DOES_NOT_EXIST, f"{kind} does not exist")


def _phase_of(pool: MachinePool) -> str:
    """Return the pool's `status.phase`."""
    status, done = pool.status, pool.status.initialization
    phase = status.phase or "Pending"
    if done.bootstrap_data_secret_created and not done.infrastructure_provisioned:
        phase = "Provisioning"
    if status.node_refs:
        phase = "Provisioned"
    if done.infrastructure_provisioned and pool.spec.replicas is not None:
        phase = _scaling_phase(pool, pool.spec.replicas)
    return "Deleting" if pool.deleting else phase


def _scaling_phase(pool: MachinePool, desired: int) -> str:
    deprecated = pool.status.deprecated
    legacy = deprecated.v1beta1 if deprecated is not None else None
    ready = legacy.ready_replicas if legacy is not None else 0
    if ready == desired:
        return "Running"
    if is_externally_scaled(pool.metadata.annotations):
        return "Scaling"
    return "ScalingUp" if desired > ready else "ScalingDown"


def _update_v1beta1_status(scope: MachinePoolScope) -> None:
    """Write the v1beta1 conditions: the parts, then their summary Ready."""
    legacy = v1beta1.conditions_of(scope.pool)
    if not scope.pool.deleting:
        for beta1_condition in (
            _bootstrap_ready(scope),
            _infrastructure_ready(scope),
            _replicas_ready(scope),
        ):
            v1beta1.set_condition(legacy, beta1_condition, scope.now)
    v1beta1.set_condition(legacy, v1beta1.summary(legacy, _SUMMARIZED), scope.now)


def _bootstrap_ready(scope: MachinePoolScope) -> V1Beta1Condition | None:
    of, bootstrap = V1Beta1Type.BOOTSTRAP_READY, scope.pool.spec.template.spec.bootstrap
    done = bool(scope.pool.status.initialization.bootstrap_data_secret_created)
    if bootstrap.config_ref is None:
        return v1beta1.true(of) if done else None
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
            return v1beta1.false(of, V1Beta1Reason.INCORRECT_EXTERNAL_REF, v1beta1.ERROR, message)
    return None


def _mirror_view(view: View, of: str, waiting: str, *, done: bool) -> V1Beta1Condition | None:
    fallback = v1beta1.true(of) if done else v1beta1.false(of, waiting, v1beta1.INFO)
    return v1beta1.mirror(v1beta1.foreign_ready(view.document), of, fallback)


def _replicas_ready(scope: MachinePoolScope) -> V1Beta1Condition | None:
    """Return whether each machine has a ready Node; None before the first Node."""
    of, pool, legacy = V1Beta1Type.REPLICAS_READY, scope.pool, scope.legacy
    refs, ids = pool.status.node_refs, pool.spec.provider_id_list
    unknown_ids = not ids and pool.spec.replicas != 0
    none_yet = not refs and v1beta1.get(legacy.conditions, of) is None
    if scope.nodes is None or (none_yet and ids):
        return None
    if legacy.ready_replicas == (pool.status.replicas or 0) == len(refs):
        return v1beta1.true(of)
    return (
        None
        if unknown_ids
        else v1beta1.false(of, V1Beta1Reason.WAITING_FOR_REPLICAS_READY, v1beta1.INFO)
    )
