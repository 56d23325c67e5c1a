"""The reconciler of MachineHealthChecks."""

from __future__ import annotations

from typing import Final

from kapy.api.cluster import Cluster
from kapy.api.machine_health_check import MachineHealthCheck
from kapy.api.names import ConditionType, Label
from kapy.conditions.change import set_condition
from kapy.conditions.lookup import get, is_true
from kapy.conditions.paused import paused_condition, report_pause
from kapy.contract.ownership import ensure_owner
from kapy.core.machinehealthcheck.checks import ClusterFacts, Undecided, is_ahead, verdict
from kapy.core.machinehealthcheck.remediation import remediate, report_health
from kapy.core.machinehealthcheck.scope import Dependencies, HealthScope
from kapy.core.machinehealthcheck.status import count, decide, unhealthy
from kapy.core.machinehealthcheck.targets import targets
from kapy.engine.cache import Informer
from kapy.engine.draft import Draft
from kapy.engine.reconciler import Reconciler
from kapy.engine.result import DONE, Result, requeue
from kapy.kube import Document
from kapy.kube.meta import owner_reference
from kapy.kube.names import NODES
from kapy.remote.cluster_cache import NotConnected

REQUEUE_REASON: Final = "by then a Machine may have become unhealthy"


async def set_cluster(scope: HealthScope) -> Result:
    """Set the Cluster's label and owner reference on the check."""
    metadata = scope.check.metadata
    metadata.labels[Label.CLUSTER_NAME] = scope.cluster.metadata.name
    ensure_owner(metadata.owner_references, owner_reference(scope.cluster))
    return DONE


async def check_machines(scope: HealthScope) -> Result:
    """Judge the selected Machines, and mark the unhealthy ones for remediation."""
    try:
        nodes = _nodes(scope.dependencies, scope.cluster)
    except NotConnected:
        return DONE  # the connection enqueues the check; nothing is held against Machines meanwhile
    check, objects = scope.check, scope.dependencies.fleet
    facts = ClusterFacts.of(scope.cluster)
    machines = objects.machines_of(scope.cluster.key)
    node_now = scope.dependencies.remote.now(scope.cluster.key)
    scope.findings = [
        (target, verdict(target, check.spec.checks, facts, scope.now, node_now))
        for target in targets(check, machines, objects.machine_of, nodes)
    ]
    waiting = [
        target
        for target, health in scope.findings
        if isinstance(health, Undecided) and health.again is not None
    ]
    clock = scope.dependencies.remote.clock(scope.cluster.key)
    if clock is not None and any(is_ahead(target, node_now) for target in waiting):
        # The clock there has jumped since its last answer; the next check knows by how much.
        clock.ask_again()
    count(scope)
    allowance, is_news = decide(scope)
    if allowance.allowed:
        await remediate(scope)
        return _next_check(scope)
    condition = get(check.status.conditions, ConditionType.REMEDIATION_ALLOWED)
    if is_news and condition is not None and unhealthy(scope):
        scope.dependencies.events.warning(check, "RemediationRestricted", condition.message)
    await report_health(scope)
    return _next_check(scope)


class MachineHealthCheckReconciler(Reconciler[MachineHealthCheck, HealthScope]):
    """Reconciles MachineHealthChecks; the creation of a missing Cluster enqueues them."""

    normal = deletion = (set_cluster, check_machines)

    def __init__(self, dependencies: Dependencies) -> None:
        super().__init__(MachineHealthCheck, dependencies.checks, dependencies.client)
        self.dependencies = dependencies

    async def begin(self, draft: Draft[MachineHealthCheck]) -> HealthScope | Result:
        cluster = self.dependencies.fleet.cluster_of(draft.object)
        if cluster is None:
            return DONE
        return HealthScope(self.dependencies, draft, cluster, self.dependencies.clock())

    def pause(self, scope: HealthScope) -> bool:
        return report_pause(scope.check, scope.cluster, scope.now)

    def set_status(self, scope: HealthScope) -> Result:
        set_condition(scope.check, paused_condition(scope.check, scope.cluster), scope.now)
        return DONE


def _nodes(dependencies: Dependencies, cluster: Cluster) -> Informer[Document] | None:
    """Return the Nodes, whose changes enqueue the checks; None before the control plane is
    available.
    """
    if not is_true(cluster.status.conditions, ConditionType.CONTROL_PLANE_INITIALIZED):
        return None
    return dependencies.remote.watch(
        dependencies.controller, cluster.key, NODES, dependencies.node_keys
    )


def _next_check(scope: HealthScope) -> Result:
    """Return a timer for the first deadline: there is no event at that moment."""
    waits = [
        item.again
        for _, item in scope.findings
        if isinstance(item, Undecided) and item.again is not None
    ]
    return requeue(after=min(waits), because=REQUEUE_REASON) if waits else DONE
