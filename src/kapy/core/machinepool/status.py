"""The counters, the conditions and the phase of a MachinePool (pure functions).

Upstream reports only the condition Paused so far. Its contract announces that the provider's Ready
is mirrored; without these conditions, contract violations of a provider would be invisible.
"""

from __future__ import annotations

from collections.abc import Iterable

from kapy.api.condition import Condition
from kapy.api.embedded import StatusVersion
from kapy.api.machine_pool import MachinePool, MachinePoolStatus
from kapy.api.machines import is_externally_scaled
from kapy.api.names import ConditionType, Reason
from kapy.api.versions import sum_by_version, versions_of
from kapy.conditions.change import set_condition
from kapy.conditions.lookup import false, is_true, true, unknown
from kapy.conditions.mirror import mirror_ready
from kapy.conditions.paused import paused_condition
from kapy.contract.fields import View
from kapy.contract.observed import Found, Observed, Unreadable, contract_violation
from kapy.core.machinepool.scope import MachinePoolScope
from kapy.core.machinepool.status_v1beta1 import update_v1beta1_status
from kapy.kube import Key


def update_status(scope: MachinePoolScope) -> None:
    """Write counters, conditions and phase to the pool's status."""
    pool = scope.pool
    if scope.has_machines is not None:
        count(scope)
    for condition in conditions(scope):
        set_condition(pool, condition, scope.now)
    update_v1beta1_status(scope)
    pool.status.phase = phase_of(pool)


def count(scope: MachinePoolScope) -> None:
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


def conditions(scope: MachinePoolScope) -> Iterable[Condition]:
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


def phase_of(pool: MachinePool) -> str:
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
