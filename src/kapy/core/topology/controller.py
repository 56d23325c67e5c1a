"""The watches, mappers and wiring of the topology controllers."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, Final

from kapy.api.cluster import Cluster
from kapy.api.cluster_class import ClusterClass
from kapy.api.extension_config import ExtensionConfig
from kapy.api.machine_health_check import MachineHealthCheck
from kapy.api.names import CLUSTER_GROUP, ConditionType
from kapy.contract.classes import clusters_of_class, of_template
from kapy.contract.cluster_objects import ClusterObjects, by_reference, cluster_of
from kapy.contract.external import External, owner_keys
from kapy.core.topology.current_state import is_owned
from kapy.core.topology.fingerprint import PatchRevisions
from kapy.core.topology.planning import Planner
from kapy.core.topology.reconcile import TopologyReconciler
from kapy.core.topology.scope import Dependencies, Explain, Workloads
from kapy.core.topology.templates import add_to as add_templates
from kapy.engine.cache import Cache, Change, Informer
from kapy.engine.controller import AGGREGATE_DEBOUNCE, STATUS_DEBOUNCE, Controller, Mapper
from kapy.engine.runtime import Runtime
from kapy.engine.ssa_cache import SSACache
from kapy.kube import Document, Key
from kapy.kube.names import GroupKind
from kapy.topology.hook_cache import HookCache
from kapy.topology.hooks import LifecycleHooks, registered_handlers

NAME: Final = "topology/cluster"


def add_to(
    runtime: Runtime,
    remote: Workloads,
    *,
    hooks: LifecycleHooks | None = None,
    patches: PatchRevisions | None = None,
    explain: Explain | None = None,
) -> Controller:
    """Add the controllers of managed topologies to a runtime.

    hooks, patches: clients of extensions, None if the feature gate RuntimeSDK is off. explain:
    receives the patches of a Cluster's objects.
    """
    objects, external = ClusterObjects(runtime.cache), External(runtime.client, runtime.cache)
    clusters = runtime.cache.informer(Cluster.RESOURCE)
    classes = runtime.cache.informer(ClusterClass.RESOURCE)
    health_checks = runtime.cache.informer(MachineHealthCheck.RESOURCE)
    applied = runtime.metrics.remember(SSACache(NAME))
    dependencies = Dependencies(
        client=runtime.client,
        external=external,
        remote=remote,
        fleet=objects,
        classes=classes,
        health_checks=health_checks,
        planner=Planner(runtime.client, external, applied),
        events=runtime.events.for_component("topology/cluster-controller"),
        clock=runtime.clock,
        hooks=hooks,
        patches=patches,
        random=runtime.random,
        explain=explain,
    )
    # Upstream's flag for it has another name than the controller.
    concurrency = runtime.options.concurrency.get("clustertopology", 50)
    controller = Controller(
        NAME, TopologyReconciler(dependencies).reconcile, concurrency=concurrency
    )
    controller.on_resync = partial(_forget, dependencies)
    controller.watch(clusters, own_topology)
    controller.watch(classes, of_class(runtime.cache), debounce=STATUS_DEBOUNCE)
    controller.watch(objects.deployments, of_workers, debounce=AGGREGATE_DEBOUNCE)
    controller.watch(objects.pools, of_workers, debounce=AGGREGATE_DEBOUNCE)
    controller.watch(health_checks, spec_changes_only(of_workers))
    external.wake(controller, of_class_template(runtime.cache), gather=STATUS_DEBOUNCE)
    external.wake(
        controller, by_reference(clusters, ("spec", "controlPlaneRef")), gather=AGGREGATE_DEBOUNCE
    )
    external.wake(controller, spec_changes_only(_of_owner))
    external.wake(
        controller, spec_changes_only(by_reference(clusters, ("spec", "infrastructureRef")))
    )
    remote.subscribe(controller.enqueue)
    if hooks is not None:
        _follow_extensions(runtime, controller, clusters, dependencies.memory)
    add_templates(runtime, objects, external)
    return runtime.add(controller, clusters)


def _forget(dependencies: Dependencies, key: Key) -> None:
    """Make the next reconcile call the extensions for patches, if there are any."""
    settled = dependencies.settled.get(key)
    if settled is not None and settled.until is not None:
        del dependencies.settled[key]


def _follow_extensions(
    runtime: Runtime, controller: Controller, clusters: Informer[Document], memory: HookCache
) -> None:
    """Enqueue all Clusters with a topology when the registered extensions change; pending hooks of
    a removed extension no longer block.
    """
    configs = runtime.cache.informer(ExtensionConfig.RESOURCE)

    def keys(change: Change) -> Iterable[Key]:
        if registered_handlers(change.old) == registered_handlers(change.new):
            return ()
        memory.clear()
        return [Key.of(item) for item in clusters.list() if item["spec"].get("topology")]

    controller.watch(configs, keys)


_of_owner = owner_keys(GroupKind(CLUSTER_GROUP, "Cluster"))


def own_topology(change: Change) -> Iterable[Key]:
    """Map a Cluster with a topology to its key, except for changes of progress."""
    document = change.document
    if document["spec"].get("topology") and _topology(change.old) != _topology(change.new):
        yield Key.of(document)


def _topology(cluster: Document | None) -> Any:
    """Return the fields of a Cluster that its topology depends on."""
    if cluster is None:
        return None
    entries = (ConditionType.TOPOLOGY_RECONCILED, ConditionType.CONTROL_PLANE_INITIALIZED)
    conditions = (cluster.get("status") or {}).get("conditions") or ()
    return _spec_of(cluster), [
        (condition["type"], condition["status"], condition.get("message"))
        for condition in conditions
        if condition["type"] in entries
    ]


def _spec_of(document: Document | None) -> Any:
    """Return the spec and relevant metadata of an object, without its status."""
    if document is None:
        return None
    metadata = document["metadata"]
    names = ("uid", "labels", "annotations", "ownerReferences", "deletionTimestamp")
    return [metadata.get(name) for name in names], document.get("spec")


def spec_changes_only(keys: Mapper) -> Mapper:
    """Wrap a mapper so that it ignores changes of the status."""

    def map_change(change: Change) -> Iterable[Key]:
        return keys(change) if _spec_of(change.old) != _spec_of(change.new) else ()

    return map_change


def of_class(cache: Cache) -> Mapper:
    """Return a mapper from a class to its Clusters."""
    clusters_of = clusters_of_class(cache)
    return lambda change: clusters_of(Key.of(change.document))


def of_class_template(cache: Cache) -> Mapper:
    """Return a mapper from a template to the Clusters of the classes that refer to it."""
    classes_of, clusters_of = of_template(cache), clusters_of_class(cache)

    def keys(change: Change) -> Iterable[Key]:
        return [cluster for of in classes_of(change) for cluster in clusters_of(of)]

    return spec_changes_only(keys)


def of_workers(change: Change) -> Iterable[Key]:
    """Map workers and health checks of a topology to their Cluster."""
    document = change.document
    if is_owned(document):
        cluster = cluster_of(document)
        if cluster is not None:
            yield cluster
