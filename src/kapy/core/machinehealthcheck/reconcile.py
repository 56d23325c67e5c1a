"""One reconcile of a MachineHealthCheck: the order of the phases, and the writes."""

from __future__ import annotations

from typing import Final

from kapy.api.cluster import Cluster
from kapy.api.machine_health_check import MachineHealthCheck
from kapy.api.names import ConditionType, Label
from kapy.conditions.change import set_condition
from kapy.conditions.lookup import get, is_true
from kapy.conditions.paused import is_paused, paused_condition
from kapy.contract.ownership import ensure_owner
from kapy.core.machinehealthcheck.checks import ClusterFacts, Undecided, verdict
from kapy.core.machinehealthcheck.remediation import remediate, report_health
from kapy.core.machinehealthcheck.scope import HealthScope, Tools
from kapy.core.machinehealthcheck.status import count, decide, unhealthy
from kapy.core.machinehealthcheck.targets import targets
from kapy.engine.cache import Informer
from kapy.engine.draft import Draft
from kapy.engine.result import DONE, Result, requeue
from kapy.kube import Document, Key
from kapy.kube.meta import owner_reference
from kapy.kube.names import NODES
from kapy.remote.cluster_cache import NotConnected

REQUEUE_REASON: Final = "by then a Machine may have become unhealthy"


async def reconcile(tools: Tools, key: Key) -> Result:
    """Reconcile a MachineHealthCheck; the creation of a missing Cluster enqueues it."""
    document = tools.checks.raw(key)
    if document is None:
        return DONE
    draft = Draft(tools.client, MachineHealthCheck, document)
    check = draft.object
    cluster = tools.fleet.clusters.get(Key(key.namespace, check.spec.cluster_name))
    if cluster is None:
        return DONE
    now = tools.clock()
    set_condition(check, paused_condition(check, cluster), now)
    if not is_paused(check, cluster):
        _set_cluster(check, cluster)
        try:
            nodes = _nodes(tools, cluster)
        except NotConnected:
            pass  # the connection wakes us, and nothing is held against Machines meanwhile
        else:
            return await _check_machines(HealthScope(tools, draft, cluster, now), nodes)
    await draft.save()
    return DONE


def _set_cluster(check: MachineHealthCheck, cluster: Cluster) -> None:
    """Set the Cluster's label and owner reference on the check."""
    metadata = check.metadata
    metadata.labels[Label.CLUSTER_NAME] = cluster.metadata.name
    ensure_owner(metadata.owner_references, owner_reference(cluster))


def _nodes(tools: Tools, cluster: Cluster) -> Informer[Document] | None:
    """Return the Nodes, whose changes enqueue the checks; None before the control plane is
    available.
    """
    if not is_true(cluster.status.conditions, ConditionType.CONTROL_PLANE_INITIALIZED):
        return None
    return tools.remote.watch(tools.controller, cluster.key, NODES, tools.node_keys)


async def _check_machines(scope: HealthScope, nodes: Informer[Document] | None) -> Result:
    failure = None
    try:
        await _act(scope, nodes)
        scope.check.status.observed_generation = scope.check.metadata.generation
    except Exception as error:
        failure = error
    await scope.draft.save()
    if failure is not None:
        raise failure
    return _next_check(scope)


async def _act(scope: HealthScope, nodes: Informer[Document] | None) -> None:
    check, objects = scope.check, scope.tools.fleet
    surroundings = ClusterFacts.of(scope.cluster)
    machines = objects.machines_of(scope.cluster.key)
    scope.findings = [
        (target, verdict(target, check.spec.checks, surroundings, scope.now))
        for target in targets(check, machines, objects.machine_of, nodes)
    ]
    count(scope)
    allowance, is_news = decide(scope)
    if allowance.allowed:
        await remediate(scope)
        return
    condition = get(check.status.conditions, ConditionType.REMEDIATION_ALLOWED)
    if is_news and condition is not None and unhealthy(scope):
        scope.tools.events.warning(check, "RemediationRestricted", condition.message)
    await report_health(scope)


def _next_check(scope: HealthScope) -> Result:
    """Return a timer for the first deadline: there is no event at that moment."""
    waits = [
        item.again
        for _, item in scope.findings
        if isinstance(item, Undecided) and item.again is not None
    ]
    return requeue(after=min(waits), because=REQUEUE_REASON) if waits else DONE
