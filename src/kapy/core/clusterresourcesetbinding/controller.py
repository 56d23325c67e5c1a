"""The controller of ClusterResourceSetBindings: its reconciler, its watches and its mappers.

The reconciler deletes a binding when its Cluster is deleted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from kapy._aio.clock import Clock
from kapy.api.cluster import Cluster
from kapy.api.cluster_resource_set_binding import ClusterResourceSetBinding
from kapy.api.features import FeatureGates
from kapy.api.names import CLUSTER_GROUP, Annotation
from kapy.client.client import Client
from kapy.contract.ownership import claim
from kapy.engine.cache import Change, Informer
from kapy.engine.controller import Controller, own_key
from kapy.engine.draft import Draft
from kapy.engine.reconciler import Reconciler
from kapy.engine.result import DONE, Result
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.errors import NotFound
from kapy.kube.names import split_api_version
from kapy.remote.cluster_cache import ClusterCache


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The dependencies of the ClusterResourceSetBinding reconciler."""

    client: Client
    bindings: Informer[Document]
    clusters: Informer[Document]
    gates: FeatureGates
    clock: Clock


@dataclass(slots=True)
class BindingScope:
    """The state of one reconcile of a ClusterResourceSetBinding."""

    dependencies: Dependencies
    draft: Draft[ClusterResourceSetBinding]
    now: datetime


async def _delete_with_cluster(scope: BindingScope) -> Result:
    """Delete the binding of a Cluster that is being deleted or is gone."""
    dependencies, key = scope.dependencies, scope.draft.object.key
    resource = ClusterResourceSetBinding.RESOURCE
    document = await claim(dependencies.client, resource, scope.draft.before, _reference_patch)
    name = document["spec"].get("clusterName")
    cluster = dependencies.clusters.raw(Key(key.namespace, name)) if name else None
    if name and (cluster is None or _is_deleted(cluster, dependencies.gates)):
        try:
            await dependencies.client.delete(resource, key, uid=document["metadata"]["uid"])
        except NotFound:
            return DONE
    return DONE


class ClusterResourceSetBindingReconciler(Reconciler[ClusterResourceSetBinding, BindingScope]):
    """Reconciles ClusterResourceSetBindings, which have no status."""

    normal = deletion = (_delete_with_cluster,)

    def __init__(self, dependencies: Dependencies) -> None:
        super().__init__(ClusterResourceSetBinding, dependencies.bindings, dependencies.client)
        self.dependencies = dependencies

    async def begin(self, draft: Draft[ClusterResourceSetBinding]) -> BindingScope:
        return BindingScope(self.dependencies, draft, self.dependencies.clock())

    def pause(self, scope: BindingScope) -> bool:
        return Annotation.PAUSED in scope.draft.object.metadata.annotations

    def set_status(self, _scope: BindingScope) -> Result:
        return DONE

    def set_observed_generation(self, scope: BindingScope) -> None:
        """Do nothing: the kind has no status."""


def _reference_patch(document: Document) -> Document:
    """Return the merge patch that sets `spec.clusterName` where old versions had an owner
    reference; {} if nothing changes.
    """
    metadata, spec = document["metadata"], document["spec"]
    owners = metadata.get("ownerReferences") or []
    clusters = [owner for owner in owners if _is_cluster(owner)]
    if not clusters:
        return {}
    rest = [owner for owner in owners if not _is_cluster(owner)]
    version = metadata["resourceVersion"]
    patch: Document = {"metadata": {"ownerReferences": rest, "resourceVersion": version}}
    if not spec.get("clusterName"):
        patch["spec"] = {"clusterName": clusters[0]["name"]}
    return patch


def _is_cluster(owner: Document) -> bool:
    group, _ = split_api_version(owner["apiVersion"])
    return owner["kind"] == "Cluster" and group == CLUSTER_GROUP


def _is_deleted(cluster: Document, gates: FeatureGates) -> bool:
    """Return whether the Cluster is being deleted and no hook blocks that."""
    metadata = cluster["metadata"]
    if not metadata.get("deletionTimestamp"):
        return False
    if not (gates.runtime_sdk and gates.cluster_topology and cluster["spec"].get("topology")):
        return True
    return Annotation.OK_TO_DELETE in (metadata.get("annotations") or {})


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
