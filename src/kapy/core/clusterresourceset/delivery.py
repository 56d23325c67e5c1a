"""Phase: apply the objects of a ClusterResourceSet to one Cluster, and record that in its
binding.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Final

from kapy.api.cluster_resource_set_binding import ClusterResourceSetBinding, ResourceBinding
from kapy.api.times import stamp
from kapy.contract.ownership import claim
from kapy.core.clusterresourceset.binding import (
    Change,
    binding_patch,
    binding_with,
    entry_of,
    is_bound,
    new_binding,
    resource_of,
)
from kapy.core.clusterresourceset.manifests import (
    APPLY_ONCE,
    BadManifest,
    NotApplied,
    Progress,
    apply_objects,
)
from kapy.core.clusterresourceset.scope import (
    SUCCESS,
    Outcome,
    SetScope,
    Source,
    not_applied,
    not_connected,
    not_updated,
)
from kapy.engine.result import NotYet
from kapy.kube import Document, Key
from kapy.kube.errors import AlreadyExists, KapyError, Unreachable
from kapy.kube.meta import owner_reference
from kapy.remote.cluster_cache import NotConnected

MAX_SECONDS: Final = 10.0
"""The maximum number of seconds that one source's objects may take in one reconcile."""


async def deliver(scope: SetScope, cluster: Key) -> Outcome:
    """Apply the outstanding sources to the Cluster.

    The binding is written afterwards: an interrupted reconcile applies the objects again, which
    changes nothing. An unreachable cluster gets its binding at once.
    """
    binding = _binding_of(scope, cluster)
    news, outcome = list[ResourceBinding](), SUCCESS
    try:
        scope.dependencies.remote.client(cluster)
    except NotConnected as error:
        scope.dependencies.remote.connect_foreign(cluster)
        outcome = not_connected(str(error))
    else:
        for source, previous in _due_sources(scope, binding):
            now, failed = await _apply(scope, cluster, source, previous)
            if now is not None:
                news.append(now)
            outcome = failed or outcome
    owner = owner_reference(scope.set)
    if news or not is_bound(binding, owner):
        try:
            await _update_binding(scope, cluster, binding_with(owner, news))
        except KapyError as error:
            return not_updated(error)
    return outcome


def is_settled(scope: SetScope, cluster: Key) -> bool:
    """Return whether the Cluster is reachable and up to date according to its binding.

    After a start, before the first connection, only the binding counts.
    """
    remote = scope.dependencies.remote
    try:
        remote.client(cluster)
    except NotConnected:
        remote.connect_foreign(cluster)
        if not remote.health(cluster).is_establishing:
            return False
    binding = _binding_of(scope, cluster)
    return is_bound(binding, owner_reference(scope.set)) and not any(_due_sources(scope, binding))


def _binding_of(scope: SetScope, cluster: Key) -> ClusterResourceSetBinding | None:
    """Return the Cluster's binding; shared, read only."""
    document = scope.dependencies.bindings.raw(cluster)
    return None if document is None else scope.dependencies.bindings.decode_shared(document)


def _due_sources(
    scope: SetScope, binding: ClusterResourceSetBinding | None
) -> Iterator[tuple[Source, ResourceBinding | None]]:
    """Return the sources to apply (again), with their entries in the binding."""
    entry, strategy = entry_of(binding, scope.set.metadata.name), scope.set.spec.strategy
    for source in scope.sources:
        previous = resource_of(entry, source.reference)
        if is_due(strategy, source, previous):
            yield source, previous


def is_due(strategy: str, source: Source, binding: ResourceBinding | None) -> bool:
    """Return whether the source's objects have to be applied (again)."""
    if binding is None or not binding.applied:
        return True
    return strategy != APPLY_ONCE and binding.hash != source.hash


async def _apply(
    scope: SetScope, cluster: Key, source: Source, binding: ResourceBinding | None
) -> tuple[ResourceBinding | None, Outcome | None]:
    """Apply one source to the Cluster. Return the binding's new entry, None if it is unchanged, and
    the error.
    """
    try:
        if source.problem:
            raise BadManifest(source.problem)
        objects = await scope.dependencies.manifests.of(source.document, source.values, source.hash)
    except BadManifest as error:
        # Only a change of the source helps, and that enqueues the set.
        is_known = binding is not None and not binding.hash
        news = None if is_known else _binding(scope, source, hash_="", applied=False)
        return news, not_applied(str(error))
    failed = await _apply_source(scope, cluster, source, objects)
    return _binding(scope, source, hash_=source.hash, applied=failed is None), failed


async def _apply_source(
    scope: SetScope, cluster: Key, source: Source, objects: Sequence[Document]
) -> Outcome | None:
    """Apply a source's objects; return the error, if any. A slow cluster gets the objects over
    several reconciles, so that others are not delayed.
    """
    dependencies, strategy = scope.dependencies, scope.set.spec.strategy
    reference = source.reference
    state = _uid(scope, cluster), scope.set.key, reference.kind, reference.name, source.hash
    progress = dependencies.progress.get(state) or dependencies.progress.put(state, Progress())
    secret = reference.kind == "Secret"
    try:
        async with asyncio.timeout(MAX_SECONDS):
            await apply_objects(
                dependencies.remote.client(cluster), objects, strategy, progress, secret=secret
            )
    except TimeoutError:
        done = f"{progress.done} of {len(objects)} objects were put into cluster {cluster} so far"
        return not_applied(f"{done}: it is slow", goes_on=True)
    except (Unreachable, NotYet) as error:
        return not_applied(str(error), error)  # the next attempt continues from there
    except NotApplied as error:
        dependencies.progress.forget(state)
        return not_applied(str(error), error)
    dependencies.progress.forget(state)
    return None


def _uid(scope: SetScope, cluster: Key) -> str:
    """Return the UID that distinguishes the Cluster from others of its name."""
    document = scope.dependencies.clusters.raw(cluster)
    return "" if document is None else str(document["metadata"]["uid"])


def _binding(scope: SetScope, source: Source, *, hash_: str, applied: bool) -> ResourceBinding:
    name, kind = source.reference.name, source.reference.kind
    time = stamp(scope.dependencies.clock())
    return ResourceBinding(
        name=name, kind=kind, hash=hash_, applied=applied, last_applied_time=time
    )


async def _update_binding(scope: SetScope, cluster: Key, change: Change) -> None:
    dependencies, resource = scope.dependencies, ClusterResourceSetBinding.RESOURCE
    document = dependencies.bindings.raw(cluster)
    if document is None:
        set_binding = new_binding(cluster)
        change(set_binding)
        try:
            await dependencies.client.create(set_binding)
            return
        except AlreadyExists:
            document = await dependencies.client.get(resource, cluster)
    await claim(dependencies.client, resource, document, lambda value: binding_patch(value, change))
