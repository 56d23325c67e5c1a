"""The reconciler of ClusterResourceSets, and its phases."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from datetime import timedelta
from typing import Final

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
from kapy.kube import Key
from kapy.kube.model import encode
from kapy.kube.selectors import InvalidSelector, selector_of

log = logging.getLogger(__name__)

RECHECK_SECONDS: Final = timedelta(seconds=1)
AT_ONCE: Final = 10
"""Clusters that are written to at the same time, so that a slow one does not hold up the rest."""


async def select_clusters(scope: SetScope) -> Result:
    """Select the Clusters, also those from which the deletion unbinds the set."""
    try:
        scope.clusters = list(_selected_clusters(scope.dependencies, scope.set))
    except InvalidSelector as error:
        scope.outcome = no_match(error)
    return DONE


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
    outcomes = await _outcomes(scope) if scope.clusters else []
    failures = [outcome for outcome in outcomes if outcome.failed]
    if outcomes:
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
    deletion = (select_clusters, unbind)

    def __init__(self, dependencies: Dependencies) -> None:
        kind, finalizer = ClusterResourceSet, Finalizer.CLUSTER_RESOURCE_SET
        super().__init__(kind, dependencies.sets, dependencies.client, finalizer)
        self.dependencies = dependencies

    async def begin(self, draft: Draft[ClusterResourceSet]) -> SetScope:
        return SetScope(self.dependencies, draft, (), self.dependencies.clock())

    def pause(self, scope: SetScope) -> bool:
        return report_pause(scope.set, None, scope.now)

    def set_status(self, scope: SetScope) -> Result:
        set_condition(scope.set, paused_condition(scope.set, None), scope.now)
        if scope.outcome is not None and not scope.set.deleting:
            set_outcome(scope, scope.outcome)
        return DONE

    def set_observed_generation(self, scope: SetScope) -> None:
        """Wait until the set is applied to all Clusters."""
        if scope.outcome is None or not scope.outcome.failed:
            super().set_observed_generation(scope)


async def _outcomes(scope: SetScope) -> list[Outcome]:
    blocked = await read_sources(scope)
    if blocked is not None:
        return [blocked]
    due = [cluster for cluster in scope.clusters if not is_settled(scope, cluster)]
    if not due:
        return [SUCCESS]
    places = asyncio.Semaphore(AT_ONCE)

    async def deliver_to(cluster: Key) -> Outcome:
        async with places:
            return await deliver(scope, cluster)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(deliver_to(cluster)) for cluster in due]
    return [task.result() for task in tasks]


def _selected_clusters(
    dependencies: Dependencies, resource_set: ClusterResourceSet
) -> Iterator[Key]:
    """Return the selected Clusters of the namespace that are not being deleted; an empty selector
    selects none.
    """
    selector = selector_of(encode(resource_set.spec.cluster_selector))
    if selector.everything:
        return
    for cluster in dependencies.clusters.list(resource_set.metadata.namespace):
        if selector.selects(cluster) and not cluster["metadata"].get("deletionTimestamp"):
            yield Key.of(cluster)
