"""The topology status of a Cluster."""

from __future__ import annotations

from kapy.api.cluster import Cluster
from kapy.api.names import ConditionType
from kapy.conditions import v1beta1
from kapy.conditions.change import set_condition
from kapy.conditions.lookup import get
from kapy.contract.errors import ContractError
from kapy.core.topology.scope import TopologyScope
from kapy.kube.errors import KapyError
from kapy.topology.reconciled_condition import (
    ConditionPair,
    ReconcileResult,
    topology_reconciled,
    write_upgrade_plans,
)


def condition_messages(cluster: Cluster) -> tuple[str, ...]:
    """Return the current TopologyReconciled; () if there is none."""
    condition = get(cluster.status.conditions, ConditionType.TOPOLOGY_RECONCILED)
    return () if condition is None else (condition.status, condition.reason, condition.message)


def update_status(scope: TopologyScope, failure: KapyError | None) -> None:
    """Set TopologyReconciled in both formats, and the pending versions."""
    cluster, now = scope.draft.object, _topology_condition(scope, failure)
    write_upgrade_plans(cluster.status, scope.upgrades)
    set_condition(cluster, now.condition, scope.now)
    v1beta1.set_condition(v1beta1.conditions_of(cluster), now.legacy, scope.now)


def _topology_condition(scope: TopologyScope, failure: KapyError | None) -> ConditionPair:
    result = ReconcileResult(
        cluster=scope.draft.object,
        upgrades=scope.upgrades,
        calls=scope.calls,
        cluster_class=scope.cluster_class,
        desired=scope.desired,
        error=failure,
    )
    try:
        return topology_reconciled(result)
    except ContractError as error:
        result = ReconcileResult(scope.draft.object, scope.upgrades, scope.calls, error=error)
        return topology_reconciled(result)
