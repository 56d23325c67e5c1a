"""The reconciler of ClusterResourceSets, and its phases."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from datetime import timedelta
from typing import Final

from kapy._aio.cooperation import Cooperation
from kapy.api.cluster_resource_set import ClusterResourceSet
from kapy.api.names import Finalizer
from kapy.conditions.change import set_condition
from kapy.conditions.paused import paused_condition, report_pause
from kapy.core.clusterresourceset.deletion import unbind_set
from kapy.core.clusterresourceset.delivery import deliver, is_settled
from kapy.core.clusterresourceset.scope import Dependencies, Outcome, SetScope
from kapy.core.clusterresourceset.sources import read_sources
from kapy.core.clusterresourceset.status import SUCCESS, no_match, set_outcome
from kapy.engine.draft import Draft
from kapy.engine.reconciler import Reconciler
from kapy.engine.result import DONE, Result, requeue
from kapy.kube import Document, Key
from kapy.kube.model import encode
from kapy.kube.selectors import InvalidSelector, LabelSelector, selector_of

log = logging.getLogger(__name__)

RECHECK_SECONDS: Final = timedelta(seconds=1)
AT_ONCE: Final = 10
"""The number of Clusters that are written to at the same time, so that a slow one does not delay
the rest."""


async def select_clusters(scope: SetScope) -> Result:
    """Select the Clusters to process: those that may have changed, or all of them."""
    return await _select(scope, scope.dependencies.pending.take(scope.set.key))


async def select_all_clusters(scope: SetScope) -> Result:
    """Select all Clusters, from which the deletion unbinds the set."""
    return await _select(scope, None)


async def _select(scope: SetScope, among: Iterable[Key] | None) -> Result:
    try:
        selector = selector_of(encode(scope.set.spec.cluster_selector))
    except InvalidSelector as error:
        scope.outcome = no_match(error)
        return DONE
    clusters = scope.dependencies.clusters
    if among is None:
        everywhere = clusters.keys()
        among = [key for key in everywhere if key.namespace == scope.namespace]
    cooperation = Cooperation()
    scope.clusters = []
    for key in sorted(among):
        await cooperation.step()
        document = clusters.raw(key)
        if document is not None and is_selected(selector, document):
            scope.clusters.append(key)
    return DONE


def is_selected(selector: LabelSelector, cluster: Document) -> bool:
    """Return whether a selector selects a Cluster that is not being deleted; an empty one selects
    none.
    """
    if selector.everything or cluster["metadata"].get("deletionTimestamp"):
        return False
    return selector.selects(cluster)


async def unbind(scope: SetScope) -> Result:
    """Remove the set from the bindings, then its finalizer."""
    metadata = scope.set.metadata
    if Finalizer.CLUSTER_RESOURCE_SET in metadata.finalizers:
        await unbind_set(scope)
        metadata.finalizers.remove(Finalizer.CLUSTER_RESOURCE_SET)
    return DONE


async def apply(scope: SetScope) -> Result:
    """Apply the set to every selected Cluster."""
    if scope.outcome is not None:
        return DONE
    blocked = await read_sources(scope) if scope.clusters else None
    failures = await _failures(scope) if blocked is None else [blocked]
    if failures is None:
        return DONE
    # The condition names the first Cluster that failed; the next reconcile names another one.
    scope.outcome = failures[0] if failures else SUCCESS
    for failure in failures:
        log.info("%s: %s", scope.set.key, failure.legacy.message)
    retries = [outcome.retry for outcome in failures if outcome.retry is not None]
    if retries:
        # Back-off: there is no event when a workload cluster would not refuse any more.
        raise ExceptionGroup("not applied to every cluster", retries)
    if any(outcome.goes_on for outcome in failures):
        return requeue(after=RECHECK_SECONDS, because="a slow cluster does not have everything yet")
    return DONE


class ClusterResourceSetReconciler(Reconciler[ClusterResourceSet, SetScope]):
    """Reconciles ClusterResourceSets: applies each to every Cluster that it selects."""

    normal = (select_clusters, apply)
    deletion = (select_all_clusters, unbind)

    def __init__(self, dependencies: Dependencies) -> None:
        kind, finalizer = ClusterResourceSet, Finalizer.CLUSTER_RESOURCE_SET
        super().__init__(kind, dependencies.sets, dependencies.client, finalizer)
        self.dependencies = dependencies

    async def begin(self, draft: Draft[ClusterResourceSet]) -> SetScope:
        return SetScope(self.dependencies, draft, [], self.dependencies.clock())

    async def reconcile(self, key: Key) -> Result:
        try:
            return await super().reconcile(key)
        finally:
            self.dependencies.pending.end(key)

    def forget(self, key: Key) -> None:
        super().forget(key)
        self.dependencies.pending.add_all(key)

    def pause(self, scope: SetScope) -> bool:
        return report_pause(scope.set, None, scope.now)

    def set_status(self, scope: SetScope) -> Result:
        set_condition(scope.set, paused_condition(scope.set, None), scope.now)
        if scope.outcome is not None and not scope.set.deleting:
            set_outcome(scope, scope.outcome)
        return DONE

    def set_observed_generation(self, scope: SetScope) -> None:
        """Set `status.observedGeneration`, but only once the set is applied to all Clusters."""
        if scope.outcome is None or not scope.outcome.failed:
            super().set_observed_generation(scope)


async def _failures(scope: SetScope) -> list[Outcome] | None:
    """Deliver to the Clusters that are not settled. Return the failures, None if the set selects no
    Cluster.
    """
    cooperation = Cooperation()
    due = []
    for cluster in scope.clusters:
        await cooperation.step()
        if not is_settled(scope, cluster):
            due.append(cluster)
    failures = {key: outcome for key, outcome in await _deliver_to(scope, due) if outcome.failed}
    again = {key for key, outcome in failures.items() if outcome.retry or outcome.goes_on}
    waiting = scope.dependencies.pending.settle(
        scope.set.key,
        looked_at=bool(scope.clusters),
        again=again,
        waiting={key: outcome for key, outcome in failures.items() if key not in again},
    )
    return None if waiting is None else [*(failures[key] for key in sorted(again)), *waiting]


async def _deliver_to(scope: SetScope, clusters: Iterable[Key]) -> list[tuple[Key, Outcome]]:
    places = asyncio.Semaphore(AT_ONCE)

    async def deliver_to(cluster: Key) -> tuple[Key, Outcome]:
        async with places:
            return cluster, await deliver(scope, cluster)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(deliver_to(cluster)) for cluster in clusters]
    return [task.result() for task in tasks]
