"""One reconcile of a ClusterResourceSet: the order of the phases, and the writes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from kapy.api.cluster_resource_set import ClusterResourceSet
from kapy.api.names import Finalizer
from kapy.conditions.change import set_condition
from kapy.conditions.paused import is_paused, paused_condition
from kapy.core.clusterresourceset.deletion import unbind_set
from kapy.core.clusterresourceset.delivery import deliver, is_settled
from kapy.core.clusterresourceset.scope import SetScope, Tools
from kapy.core.clusterresourceset.sources import read_sources
from kapy.core.clusterresourceset.status import SUCCESS, Outcome, no_match, set_outcome
from kapy.engine.draft import Draft
from kapy.engine.result import DONE, Result, requeue
from kapy.kube import Key
from kapy.kube.model import encode
from kapy.kube.selectors import InvalidSelector, selector_of

log = logging.getLogger(__name__)

RECHECK_SECONDS: Final = timedelta(seconds=1)
AT_ONCE: Final = 10
"""Clusters that are written to at the same time, so that a slow one does not hold up the rest."""


async def reconcile(tools: Tools, key: Key) -> Result:
    """Apply the set to every Cluster that it selects."""
    document = tools.sets.raw(key)
    if document is None:
        return DONE
    draft = Draft(tools.client, ClusterResourceSet, document)
    resource_set, now = draft.object, tools.clock()
    finalizers = resource_set.metadata.finalizers
    fresh = not resource_set.deleting and Finalizer.CLUSTER_RESOURCE_SET not in finalizers
    if fresh:
        finalizers.append(Finalizer.CLUSTER_RESOURCE_SET)
    set_condition(resource_set, paused_condition(resource_set, None), now)
    if is_paused(resource_set, None):
        await draft.save()
        return DONE
    if fresh:
        # Before anything is done, or a deletion meanwhile would leave it undone.
        await draft.save_spec()
    return await _work(SetScope(tools, draft, (), now))


async def _work(scope: SetScope) -> Result:
    try:
        scope.clusters = list(_selected_clusters(scope.tools, scope.set))
    except InvalidSelector as error:
        if not scope.set.deleting:
            set_outcome(scope, no_match(error))
            await scope.draft.save()
            return DONE
    return await (_delete(scope) if scope.set.deleting else _apply(scope))


async def _delete(scope: SetScope) -> Result:
    metadata = scope.set.metadata
    if Finalizer.CLUSTER_RESOURCE_SET not in metadata.finalizers:
        return DONE
    await unbind_set(scope)
    metadata.finalizers.remove(Finalizer.CLUSTER_RESOURCE_SET)
    await scope.draft.save_spec()
    return DONE


async def _apply(scope: SetScope) -> Result:
    outcomes = await _outcomes(scope) if scope.clusters else []
    failures = [outcome for outcome in outcomes if outcome.failed]
    if outcomes:
        # Of several Clusters the first that failed is told, the others' turn comes after it.
        set_outcome(scope, failures[0] if failures else SUCCESS)
    if not failures:
        scope.set.status.observed_generation = scope.set.metadata.generation
    await scope.draft.save()
    for failure in failures:
        log.info("%s: %s", scope.set.key, failure.legacy.message)
    retries = [outcome.retry for outcome in failures if outcome.retry is not None]
    if retries:
        # A timer (back-off): what a workload cluster refuses, nobody tells when it would not.
        raise ExceptionGroup("not applied to every cluster", retries)
    if any(outcome.goes_on for outcome in failures):
        return requeue(after=RECHECK_SECONDS, because="a slow cluster does not have everything yet")
    return DONE


async def _outcomes(scope: SetScope) -> list[Outcome]:
    blocked = await read_sources(scope)
    if blocked is not None:
        return [blocked]
    due = [cluster for cluster in scope.clusters if not is_settled(scope, cluster)]
    if not due:
        return [SUCCESS]
    places = asyncio.Semaphore(AT_ONCE)

    async def one(cluster: Key) -> Outcome:
        async with places:
            return await deliver(scope, cluster)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(cluster)) for cluster in due]
    return [task.result() for task in tasks]


def _selected_clusters(tools: Tools, resource_set: ClusterResourceSet) -> Iterator[Key]:
    """Return the selected Clusters of the namespace that are not being deleted; an empty selector
    selects none.
    """
    selector = selector_of(encode(resource_set.spec.cluster_selector))
    if selector.everything:
        return
    for cluster in tools.clusters.list(resource_set.metadata.namespace):
        if selector.selects(cluster) and not cluster["metadata"].get("deletionTimestamp"):
            yield Key.of(cluster)
