"""The watches, mappers and wiring of the ClusterResourceSet controller."""

from __future__ import annotations

from collections.abc import Iterable

from kapy.api.cluster import Cluster
from kapy.api.cluster_resource_set import ClusterResourceSet
from kapy.api.cluster_resource_set_binding import ClusterResourceSetBinding
from kapy.core.clusterresourceset.manifests import Manifests
from kapy.core.clusterresourceset.pending import PendingClusters
from kapy.core.clusterresourceset.reconcile import ClusterResourceSetReconciler
from kapy.core.clusterresourceset.scope import Dependencies, Outcome
from kapy.engine.cache import Change, Informer
from kapy.engine.controller import Controller
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.selectors import InvalidSelector, selector_of
from kapy.remote.cluster_cache import ClusterCache

BY_SOURCE = "source"


def add_to(runtime: Runtime, remote: ClusterCache) -> Controller:
    """Add the ClusterResourceSet controller to a runtime."""
    cache = runtime.cache
    sets = cache.informer(ClusterResourceSet.RESOURCE)
    clusters = cache.informer(Cluster.RESOURCE)
    pending = PendingClusters[Outcome]()
    mapping = _Mapping(sets, clusters, pending)
    dependencies = Dependencies(
        client=runtime.client,
        cache=cache,
        remote=remote,
        sets=sets,
        bindings=cache.informer(ClusterResourceSetBinding),
        clusters=clusters,
        manifests=Manifests(),
        clock=runtime.clock,
        source_keys=mapping.of_source,
        pending=pending,
    )
    controller = Controller(
        "clusterresourceset", ClusterResourceSetReconciler(dependencies).reconcile
    )
    dependencies.controller = controller
    controller.on_resync = pending.add_all
    controller.watch(sets, mapping.of_set)
    controller.watch(clusters, mapping.of_cluster)
    controller.watch(dependencies.bindings, mapping.of_binding)

    def connection_changed(cluster: Key) -> None:
        for key in mapping.of(cluster):
            controller.enqueue(key)

    remote.subscribe(connection_changed)
    return runtime.add(controller, sets)


class _Mapping:
    """Maps changes to the ClusterResourceSets that depend on them, and makes the Clusters pending
    that these have to look at.
    """

    def __init__(
        self,
        sets: Informer[Document],
        clusters: Informer[Document],
        pending: PendingClusters[Outcome],
    ) -> None:
        self._sets = sets
        self._clusters = clusters
        self._pending = pending
        sets.add_index(BY_SOURCE, _sources)

    def of_set(self, change: Change) -> Iterable[Key]:
        """Map a set to itself; a new spec concerns all Clusters."""
        key, old, new = Key.of(change.document), change.old, change.new
        if old is None or new is None or _spec_version(old) != _spec_version(new):
            self._pending.add_all(key)
        return (key,)

    def of(self, cluster: Key) -> Iterable[Key]:
        """Return the sets that select a Cluster."""
        document = self._clusters.raw(cluster)
        return () if document is None else self._sets_selecting(document)

    def of_cluster(self, change: Change) -> Iterable[Key]:
        """Map a Cluster to the sets that newly select it; other changes are seen through its
        connection.
        """
        old, new = change.old, change.new
        if new is None or new["metadata"].get("deletionTimestamp"):
            self._pending.drop(Key.of(change.document))
        elif old is None or _labels(old) != _labels(new):
            self._pending.drop(Key.of(new))
            yield from self._sets_selecting(new)

    def of_binding(self, change: Change) -> Iterable[Key]:
        """Map a binding whose owners were changed to its sets, which restore them. Other
        changes are read in their next reconcile.
        """
        cluster, old, new = Key.of(change.document), change.old, change.new
        is_repaired = old is not None and new is not None and _owners(old) != _owners(new)
        names = {
            binding["clusterResourceSetName"]
            for document in (old, new)
            if document is not None
            for binding in document["spec"].get("bindings") or ()
        }
        for name in sorted(names):
            resource_set = Key(cluster.namespace, name)
            self._pending.add(resource_set, cluster)
            if is_repaired:
                yield resource_set

    def of_source(self, change: Change) -> Iterable[Key]:
        """Map a ConfigMap or Secret to the sets that use it; its deletion changes nothing in
        clusters.
        """
        old, new = change.old, change.new
        if new is None or (old is not None and _content(old) == _content(new)):
            return ()
        keys = self._sets.keys_by_index(BY_SOURCE, f"{new['kind']} {Key.of(new)}")
        for key in keys:
            self._pending.add_all(key)
        return keys

    def _sets_selecting(self, cluster: Document) -> Iterable[Key]:
        for item in self._sets.list(cluster["metadata"].get("namespace")):
            if _selects(item, cluster):
                key = Key.of(item)
                self._pending.add(key, Key.of(cluster))
                yield key


def _selects(resource_set: Document, cluster: Document) -> bool:
    try:
        selector = selector_of(resource_set["spec"].get("clusterSelector"))
    except InvalidSelector:
        return False  # the set itself reports that
    return not selector.everything and selector.selects(cluster)


def _sources(resource_set: Document) -> Iterable[str]:
    namespace = resource_set["metadata"].get("namespace", "")
    for resource in resource_set["spec"].get("resources") or ():
        yield f"{resource['kind']} {Key(namespace, resource['name'])}"


def _spec_version(resource_set: Document) -> object:
    metadata = resource_set["metadata"]
    return metadata["uid"], metadata.get("generation"), metadata.get("deletionTimestamp")


def _owners(binding: Document) -> object:
    return binding["metadata"].get("ownerReferences")


def _labels(cluster: Document) -> object:
    return cluster["metadata"].get("labels")


def _content(source: Document) -> object:
    metadata = source["metadata"]
    if "data" not in source:  # only metadata is cached, so any change may be one of the content
        return metadata["resourceVersion"]
    return source["data"], metadata.get("ownerReferences")
