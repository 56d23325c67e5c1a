"""The reconciler of Clusters with a topology: read, compute, plan, write, report."""

from __future__ import annotations

from collections.abc import Awaitable
from datetime import timedelta

from kapy.api.cluster import Cluster
from kapy.api.names import Annotation, ConditionType
from kapy.conditions import v1beta1
from kapy.conditions.change import set_condition
from kapy.conditions.lookup import get, is_true
from kapy.conditions.paused import is_paused
from kapy.contract.errors import ContractError
from kapy.core.topology.blueprint import blueprint_of, check_reconciled, class_of
from kapy.core.topology.current_state import current_state
from kapy.core.topology.difference import plan_of
from kapy.core.topology.errors import CannotReconcile, NotReconciled, name_failed_step
from kapy.core.topology.fingerprint import (
    RECHECK,
    Fingerprint,
    SettledTopology,
    extensions_of,
    fingerprint,
)
from kapy.core.topology.managed_fields import migrate_managed_fields
from kapy.core.topology.scope import Dependencies, TopologyScope
from kapy.core.topology.writing import Writer
from kapy.engine.draft import Draft
from kapy.engine.reconciler import Reconciler
from kapy.engine.result import DONE, Result, requeue
from kapy.kube import Key
from kapy.kube.errors import Invalid, KapyError
from kapy.kube.meta import read
from kapy.topology.blueprint import Blueprint
from kapy.topology.cluster_variables import with_variables
from kapy.topology.desired import desired_state
from kapy.topology.hook_calls import HookCalls
from kapy.topology.patches import Cause
from kapy.topology.reconciled_condition import (
    ConditionPair,
    ReconcileResult,
    topology_reconciled,
    write_upgrade_plans,
)
from kapy.topology.state import ClusterState
from kapy.topology.upgrade_tracker import UpgradeTracker


async def _reconcile_topology(scope: TopologyScope) -> Result:
    """Compute the desired state of the Cluster's objects, and write the differences."""
    return await _with_failure(scope, _work(scope))


async def _call_delete_hook(scope: TopologyScope) -> Result:
    """Call the extensions before the deletion of a Cluster; other controllers delete its
    objects.
    """
    return await _with_failure(scope, _delete(scope))


class TopologyReconciler(Reconciler[Cluster, TopologyScope]):
    """Reconciles the topologies of Clusters. The Cluster controller owns the finalizer and
    `status.observedGeneration`.
    """

    normal = (_reconcile_topology,)
    deletion = (_call_delete_hook,)

    def __init__(self, dependencies: Dependencies) -> None:
        super().__init__(Cluster, dependencies.fleet.clusters, dependencies.client)
        self.dependencies = dependencies

    async def begin(self, draft: Draft[Cluster]) -> TopologyScope | Result:
        dependencies, cluster = self.dependencies, draft.object
        if cluster.spec.topology is None:
            self.forget(cluster.key)
            return DONE
        calls = HookCalls(
            cluster,
            dependencies.hooks,
            dependencies.memory,
            lambda pending: _mark_hook_pending(dependencies, cluster.key, pending),
        )
        return TopologyScope(
            dependencies=dependencies,
            draft=draft,
            now=dependencies.clock(),
            calls=calls,
            upgrades=UpgradeTracker.of(cluster),
        )

    def pause(self, scope: TopologyScope) -> bool:
        if not is_paused(scope.cluster, scope.cluster):
            return False
        _update_status(scope, None)
        return True

    def set_status(self, scope: TopologyScope) -> Result:
        _update_status(scope, scope.failure)
        return DONE

    def set_observed_generation(self, scope: TopologyScope) -> None:
        """Do nothing: the Cluster controller sets `status.observedGeneration`."""

    def forget(self, key: Key) -> None:
        super().forget(key)
        self.dependencies.settled.pop(key, None)

    async def write(self, scope: TopologyScope, *, failed: bool) -> Result:
        """Write the results of the phases, unless the topology is settled already. An unexpected
        error is not reported in the status.
        """
        if scope.settled is not None:
            return _requeue_for_recheck(scope.settled, scope)
        if failed and scope.failure is None:
            return DONE
        again = await super().write(scope, failed=failed)
        settled = _settled_topology(scope)
        again = again.earlier_of(_requeue_for_hooks(scope))
        return again.earlier_of(_requeue_for_recheck(settled, scope))


async def _with_failure(scope: TopologyScope, work: Awaitable[None]) -> Result:
    """Keep an error for the status. Raises it unless an event of another object ends it."""
    try:
        await work
    except NotReconciled as error:
        scope.failure = error
    except KapyError as error:
        scope.failure = error
        raise
    return DONE


def _settled_topology(scope: TopologyScope) -> SettledTopology | None:
    """Return the settled topology and remember it; None if something is left to do."""
    if scope.mark is None:
        return None
    until = None
    if scope.calls_extensions:
        until = scope.now + RECHECK * (0.9 + scope.dependencies.random.random() / 10)
    settled = SettledTopology(scope.mark, _condition_messages(scope.cluster), until)
    scope.dependencies.settled[scope.cluster.key] = settled
    return settled


async def _mark_hook_pending(dependencies: Dependencies, key: Key, hooks: str) -> None:
    patch = {"metadata": {"annotations": {Annotation.PENDING_HOOKS: hooks or None}}}
    await dependencies.client.patch(Cluster, key, patch)


async def _delete(scope: TopologyScope) -> None:
    annotations = scope.cluster.metadata.annotations
    if not scope.calls.is_open or Annotation.OK_TO_DELETE in annotations:
        return
    if await scope.calls.before_cluster_delete():
        patch = {"metadata": {"annotations": {Annotation.OK_TO_DELETE: ""}}}
        await scope.dependencies.client.patch(Cluster, scope.cluster.key, patch)


async def _work(scope: TopologyScope) -> None:
    """Compute the desired state and the plan of a Cluster's objects, and write them. Raises
    CannotReconcile and the client's errors.
    """
    blueprint, current = await _read(scope)
    dependencies, key = scope.dependencies, scope.cluster.key
    mark = fingerprint(blueprint, current, dependencies.patches)
    if _is_settled(dependencies.settled.get(key), mark, scope):
        scope.settled = dependencies.settled[key]
        return
    scope.calls_extensions = dependencies.patches is not None and bool(extensions_of(blueprint))
    if await migrate_managed_fields(dependencies, current, scope.now):
        blueprint, current = await _read(scope)
        mark = fingerprint(blueprint, current, dependencies.patches)
    if _is_new(current) and not await scope.calls.before_cluster_create():
        return
    scope.desired = await _desired_state(scope, blueprint, current)
    with name_failed_step("error reconciling the Cluster topology"):
        plan = await plan_of(dependencies, blueprint, current, scope.desired, scope.upgrades)
        await _call_after_hooks(scope, current)
        await Writer(dependencies, current).write(plan)
    # Equal inputs give an equal plan, unless an extension delays a step or has to be called.
    if plan.is_empty and (dependencies.hooks is None or scope.calls.is_quiet):
        scope.mark = mark


def _is_settled(settled: SettledTopology | None, mark: Fingerprint, scope: TopologyScope) -> bool:
    """Return whether nothing has changed since the topology was settled, and no extension
    is due.
    """
    if settled is None or (settled.fingerprint, settled.said) != (
        mark,
        _condition_messages(scope.cluster),
    ):
        return False
    return settled.until is None or scope.now < settled.until


def _is_new(current: ClusterState) -> bool:
    """Return whether no object has been created for the Cluster yet."""
    spec = current.cluster.spec
    return spec.infrastructure_ref is None and spec.control_plane_ref is None


async def _desired_state(
    scope: TopologyScope, blueprint: Blueprint, current: ClusterState
) -> ClusterState:
    dependencies = scope.dependencies
    causes: list[Cause] | None = [] if dependencies.explain is not None else None
    with name_failed_step("error computing the desired state of the Cluster topology"):
        state = await desired_state(
            blueprint,
            current,
            scope.upgrades,
            scope.calls,
            external=dependencies.patches,
            causes=causes,
        )
    if dependencies.explain is not None and causes:
        dependencies.explain(scope.cluster.key, causes)
    return state


async def _call_after_hooks(scope: TopologyScope, current: ClusterState) -> None:
    """Call the hooks that follow an event: the initialization of the control plane, and a complete
    upgrade.
    """
    cluster = scope.cluster
    topology = cluster.spec.topology
    assert topology is not None
    await scope.calls.after_control_plane_initialized(
        creating=_is_new(current), initialized=_is_initialized(cluster)
    )
    await scope.calls.after_cluster_upgrade(topology.version, settled=scope.upgrades.is_settled)


async def _read(scope: TopologyScope) -> tuple[Blueprint, ClusterState]:
    """Return blueprint and current state; variables are defaulted and validated, since the class
    may be newer than the Cluster.
    """
    dependencies = scope.dependencies
    cluster_class = class_of(dependencies.classes, scope.cluster)
    scope.cluster_class = cluster_class
    check_reconciled(cluster_class)
    document, errors = with_variables(scope.draft.before, None, cluster_class)
    if errors:
        resource = Cluster.RESOURCE
        name = scope.cluster.metadata.name
        raise CannotReconcile(str(Invalid.of(resource.kind, resource.group, name, errors)))
    if document is not scope.draft.before:
        scope.draft.object.spec.topology = read(document, Cluster).spec.topology
    cluster = read(document, Cluster)
    with name_failed_step("error reading the ClusterClass"):
        blueprint = await blueprint_of(dependencies.external, cluster, cluster_class)
    with name_failed_step("error reading current state of the Cluster topology"):
        current = await current_state(dependencies, blueprint, cluster)
    scope.current = current
    return blueprint, current


def _is_initialized(cluster: Cluster) -> bool:
    return is_true(cluster.status.conditions, ConditionType.CONTROL_PLANE_INITIALIZED)


def _requeue_for_hooks(scope: TopologyScope) -> Result:
    """Return a timer for the retry that an extension requested."""
    seconds = scope.calls.retry_after
    if not seconds:
        return DONE
    return requeue(
        after=timedelta(seconds=seconds), because=scope.calls.blocking_message("the topology")
    )


def _requeue_for_recheck(settled: SettledTopology | None, scope: TopologyScope) -> Result:
    """Requeue the Cluster to call its extensions again: a changed response causes no event."""
    if settled is None or settled.until is None:
        return DONE
    return requeue(after=settled.until - scope.now, because="extensions are called again")


def _condition_messages(cluster: Cluster) -> tuple[str, ...]:
    """Return the current TopologyReconciled; () if there is none."""
    condition = get(cluster.status.conditions, ConditionType.TOPOLOGY_RECONCILED)
    return () if condition is None else (condition.status, condition.reason, condition.message)


def _update_status(scope: TopologyScope, failure: KapyError | None) -> None:
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
