"""The watches, mappers and wiring of the ClusterResourceSetBinding controller."""

from __future__ import annotations

from collections.abc import Iterable

from kapy.api.cluster import Cluster
from kapy.api.cluster_resource_set_binding import ClusterResourceSetBinding
from kapy.core.clusterresourcesetbinding.reconcile import (
    ClusterResourceSetBindingReconciler,
    Dependencies,
)
from kapy.engine.cache import Change
from kapy.engine.controller import Controller, own_key
from kapy.engine.runtime import Runtime
from kapy.kube import Key
from kapy.remote.cluster_cache import ClusterCache


def add_to(runtime: Runtime, _remote: ClusterCache) -> Controller:
    """Add the ClusterResourceSetBinding controller to a runtime."""
    bindings = runtime.cache.informer(ClusterResourceSetBinding.RESOURCE)
    clusters = runtime.cache.informer(Cluster.RESOURCE)
    dependencies = Dependencies(
        runtime.client, bindings, clusters, runtime.options.gates, runtime.clock
    )
    controller = Controller(
        "clusterresourcesetbinding", ClusterResourceSetBindingReconciler(dependencies).reconcile
    )
    controller.watch(bindings, own_key)
    controller.watch(clusters, _if_deleting)
    return runtime.add(controller, bindings)


def _if_deleting(change: Change) -> Iterable[Key]:
    """Map a Cluster in deletion to its binding, which has the same name."""
    new = change.new
    if new is None or new["metadata"].get("deletionTimestamp"):
        yield Key.of(change.document)
