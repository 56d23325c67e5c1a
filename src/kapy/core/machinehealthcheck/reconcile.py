"""The reconciler of MachineHealthChecks, and its phases.

The phases check the Machines, report the health on them, and request the remediation of unhealthy
Machines.
"""

from __future__ import annotations

from typing import Final

from kapy.api.cluster import Cluster
from kapy.api.machine_health_check import MachineHealthCheck
from kapy.api.names import ConditionType, Label
from kapy.conditions.change import set_condition
from kapy.conditions.lookup import get, is_true
from kapy.conditions.paused import paused_condition, report_pause
from kapy.contract.ownership import ensure_owner
from kapy.core.machinehealthcheck.checks import (
    ClusterFacts,
    Healthy,
    Target,
    Undecided,
    Unhealthy,
    is_ahead,
    targets,
    verdict,
)
from kapy.core.machinehealthcheck.remediation import (
    RemediationRequests,
    health_marks,
    mark,
    owner_marks,
    requests_of,
)
from kapy.core.machinehealthcheck.scope import Dependencies, HealthScope
from kapy.core.machinehealthcheck.status import count, decide, unhealthy
from kapy.engine.cache import Informer
from kapy.engine.draft import Draft
from kapy.engine.reconciler import Reconciler
from kapy.engine.result import DONE, Result, requeue
from kapy.kube import Document
from kapy.kube.meta import owner_reference
from kapy.kube.names import NODES
from kapy.remote.cluster_cache import NotConnected

_REQUEUE_REASON: Final = "by then a Machine may have become unhealthy"


async def _set_cluster(scope: HealthScope) -> Result:
    """Set the Cluster's label and owner reference on the check."""
    metadata = scope.check.metadata
    metadata.labels[Label.CLUSTER_NAME] = scope.cluster.metadata.name
    ensure_owner(metadata.owner_references, owner_reference(scope.cluster))
    return DONE


async def _check_machines(scope: HealthScope) -> Result:
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
        await _remediate(scope)
        return _next_check(scope)
    condition = get(check.status.conditions, ConditionType.REMEDIATION_ALLOWED)
    if is_news and condition is not None and unhealthy(scope):
        scope.dependencies.events.warning(check, "RemediationRestricted", condition.message)
    await _report_health(scope)
    return _next_check(scope)


async def _report_health(scope: HealthScope) -> None:
    """Only report the health on the Machines: remediation is not allowed."""
    errors = list[Exception]()
    for target, health in scope.findings:
        try:
            await mark(scope, target, health_marks(health))
        except Exception as error:
            errors.append(error)
    _raise(errors)


async def _remediate(scope: HealthScope) -> None:
    """Have unhealthy Machines replaced by their owners, or create requests from
    `spec.remediation.templateRef`. A failure of one does not stop the others.
    """
    requests = requests_of(scope)
    errors = list[Exception]()
    for target, health in scope.findings:
        try:
            match health:
                case Unhealthy():
                    await _remediate_one(scope, target, health, requests)
                case Healthy():
                    await mark(scope, target, health_marks(health))
                    if requests is not None:
                        await requests.delete_request(target)
                case Undecided():
                    pass
        except Exception as error:
            errors.append(error)
    _raise(errors)


async def _remediate_one(
    scope: HealthScope, target: Target, health: Unhealthy, requests: RemediationRequests | None
) -> None:
    machine, failure = target.machine, None
    if requests is None:
        marks = owner_marks(machine)
    else:
        marks, failure = await requests.create(target)
    if await mark(scope, target, health_marks(health), marks):
        message = f"Machine {machine.key} has been marked as unhealthy by {scope.check.key}"
        scope.dependencies.events.normal(machine, "MachineMarkedUnhealthy", message)
    if failure is not None:
        raise failure


def _raise(errors: list[Exception]) -> None:
    if errors:
        raise ExceptionGroup("remediation failed", errors)


class MachineHealthCheckReconciler(Reconciler[MachineHealthCheck, HealthScope]):
    """Reconciles MachineHealthChecks; the creation of a missing Cluster enqueues them."""

    normal = deletion = (_set_cluster, _check_machines)

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
    return requeue(after=min(waits), because=_REQUEUE_REASON) if waits else DONE
