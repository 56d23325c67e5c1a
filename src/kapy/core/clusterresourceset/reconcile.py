"""The reconciler of ClusterResourceSets, and its phases.

The phases select the Clusters, read the ConfigMaps and Secrets, and apply the objects in them. A
deletion removes the set from the bindings; the objects stay in the clusters.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Final

from kapy._aio.cooperation import Cooperation
from kapy.api.cluster_resource_set import ClusterResourceSet, ResourceRef
from kapy.api.cluster_resource_set_binding import ClusterResourceSetBinding
from kapy.api.names import Finalizer
from kapy.conditions.change import set_condition
from kapy.conditions.paused import paused_condition, report_pause
from kapy.contract.ownership import claim, ownership_patch
from kapy.core.clusterresourceset.binding import binding_patch, binding_without
from kapy.core.clusterresourceset.delivery import deliver, is_settled
from kapy.core.clusterresourceset.manifests import BadManifest, hash_of, values_of
from kapy.core.clusterresourceset.scope import (
    SUCCESS,
    Dependencies,
    Outcome,
    SetScope,
    Source,
    no_match,
    set_outcome,
    unreadable,
    wrong_secret_type,
)
from kapy.engine.cache import Informer
from kapy.engine.draft import Draft
from kapy.engine.reconciler import Reconciler
from kapy.engine.result import DONE, Result, requeue
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError, NotFound
from kapy.kube.meta import owner_reference
from kapy.kube.model import encode
from kapy.kube.names import CONFIG_MAPS, SECRETS, Resource
from kapy.kube.selectors import InvalidSelector, LabelSelector, selector_of

log = logging.getLogger(__name__)

_RECHECK_SECONDS: Final = timedelta(seconds=1)
_AT_ONCE: Final = 10
"""The number of Clusters that are written to at the same time, so that a slow one does not delay
the rest."""

_SECRET_TYPE: Final = "addons.cluster.x-k8s.io/resource-set"
_KINDS: Final = {"ConfigMap": CONFIG_MAPS, "Secret": SECRETS}


async def _select_clusters(scope: SetScope) -> Result:
    """Select the Clusters to process: those that may have changed, or all of them."""
    return await _select(scope, scope.dependencies.pending.take(scope.set.key))


async def _select_all_clusters(scope: SetScope) -> Result:
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


async def _apply(scope: SetScope) -> Result:
    """Apply the set to every selected Cluster."""
    if scope.outcome is not None:
        return DONE
    blocked = await _read_sources(scope) if scope.clusters else None
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
        return requeue(
            after=_RECHECK_SECONDS, because="a slow cluster does not have everything yet"
        )
    return DONE


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
    places = asyncio.Semaphore(_AT_ONCE)

    async def deliver_to(cluster: Key) -> tuple[Key, Outcome]:
        async with places:
            return cluster, await deliver(scope, cluster)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(deliver_to(cluster)) for cluster in clusters]
    return [task.result() for task in tasks]


async def _read_sources(scope: SetScope) -> Outcome | None:
    """Read the sources and make the set their owner; return the outcome that stops the reconcile,
    if any. A missing source does not stop it: its creation enqueues the set.
    """
    result, missing, failed = list[Source](), None, None
    for reference in scope.set.spec.resources:
        try:
            document = await _read_source(scope, reference)
            if document is None:
                name = f'{_KINDS[reference.kind].plural} "{reference.name}" not found'
                missing = unreadable(name)
            elif reference.kind == "Secret" and document.get("type") != _SECRET_TYPE:
                failed, missing = wrong_secret_type(reference.name), None
            else:
                result.append(await _own_source(scope, reference, document))
        except KapyError as error:
            failed, missing = unreadable(str(error), error), None
    scope.sources = result
    if failed is None or missing is None:
        return failed
    return replace(missing, retry=failed.retry)  # the last error is reported


async def _read_source(scope: SetScope, reference: ResourceRef) -> Document | None:
    resource, key = _KINDS[reference.kind], Key(scope.namespace, reference.name)
    informer, contents = _watch(scope, resource), scope.dependencies.contents
    cached = informer.raw(key)
    if cached is None and informer.is_synced:
        return None
    content = contents.get((reference.kind, key))
    if content is not None and cached is not None and _version(content) == _version(cached):
        return content
    try:
        document = await scope.dependencies.client.get(resource, key)
    except NotFound:
        return None
    contents.put((reference.kind, key), document)
    return document


def _version(document: Document) -> object:
    return document["metadata"]["resourceVersion"]


def _watch(scope: SetScope, resource: Resource) -> Informer[Document]:
    """Return the informer of all ConfigMaps or Secrets, started with the first set. Sources that no
    set names are ignored.
    """
    informer = scope.dependencies.cache.informer(resource, metadata=True)
    scope.dependencies.controller.watch(informer, scope.dependencies.source_keys)
    return informer


async def _own_source(scope: SetScope, reference: ResourceRef, document: Document) -> Source:
    resource, owner = _KINDS[reference.kind], owner_reference(scope.set)
    document = await claim(
        scope.dependencies.client, resource, document, lambda value: ownership_patch(value, owner)
    )
    scope.dependencies.contents.put((reference.kind, Key.of(document)), document)
    named = {"apiVersion": "v1", "kind": reference.kind, **document}
    try:
        values = values_of(named)
    except BadManifest as error:
        return Source(reference, named, problem=str(error))
    return Source(reference, named, values, hash_of(values))


async def _unbind(scope: SetScope) -> Result:
    """Remove the set from the bindings, then its finalizer."""
    metadata = scope.set.metadata
    if Finalizer.CLUSTER_RESOURCE_SET in metadata.finalizers:
        await _unbind_set(scope)
        metadata.finalizers.remove(Finalizer.CLUSTER_RESOURCE_SET)
    return DONE


async def _unbind_set(scope: SetScope) -> None:
    """Remove the set from the bindings of the Clusters that it selects, and delete empty bindings.
    As in upstream, bindings of Clusters that it no longer selects are unchanged.
    """
    for cluster in scope.clusters:
        try:
            await _unbind_one(scope, cluster)
        except NotFound:
            continue


async def _unbind_one(scope: SetScope, cluster: Key) -> None:
    dependencies, resource = scope.dependencies, ClusterResourceSetBinding.RESOURCE
    document = dependencies.bindings.raw(cluster)
    if document is None:
        return
    name = scope.set.metadata.name
    bindings = document["spec"].get("bindings") or ()
    if all(binding["clusterResourceSetName"] == name for binding in bindings):
        await dependencies.client.delete(resource, cluster, uid=document["metadata"]["uid"])
        return
    change = binding_without(name)
    await claim(dependencies.client, resource, document, lambda value: binding_patch(value, change))


class ClusterResourceSetReconciler(Reconciler[ClusterResourceSet, SetScope]):
    """Reconciles ClusterResourceSets: applies each to every Cluster that it selects."""

    normal = (_select_clusters, _apply)
    deletion = (_select_all_clusters, _unbind)

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
