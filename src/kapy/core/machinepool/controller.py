"""The watches, mappers and wiring of the MachinePool controller."""

from __future__ import annotations

from collections.abc import Iterable

from kapy.api.names import CLUSTER_GROUP
from kapy.contract.cluster_objects import (
    ClusterObjects,
    by_reference,
    cluster_of,
    on_create_or_delete,
    on_update,
)
from kapy.contract.external import External, owner_keys
from kapy.contract.predicates import unblocking_only
from kapy.core.machinepool.machines import BY_POOL, pool_labels
from kapy.core.machinepool.reconcile import MachinePoolReconciler
from kapy.core.machinepool.scope import Dependencies
from kapy.engine.cache import Change
from kapy.engine.controller import AGGREGATE_DEBOUNCE, STATUS_DEBOUNCE, Controller
from kapy.engine.runtime import Runtime
from kapy.engine.ssa_cache import SSACache
from kapy.kube import Document, Key
from kapy.kube.names import GroupKind
from kapy.kube.qualified_names import label_value
from kapy.remote.cluster_cache import ClusterCache
from kapy.remote.nodes import provider_id_of

BY_NODE = "node"
BY_LABEL = "pool label"
REFERENCES = (
    ("spec", "template", "spec", "bootstrap", "configRef"),
    ("spec", "template", "spec", "infrastructureRef"),
)


def add_to(runtime: Runtime, remote: ClusterCache) -> Controller:
    """Add the MachinePool controller to a runtime."""
    objects = ClusterObjects(runtime.cache)
    external = External(runtime.client, runtime.cache)
    mapping = _Mapping(objects)
    dependencies = Dependencies(
        client=runtime.client,
        cache=runtime.cache,
        external=external,
        remote=remote,
        fleet=objects,
        events=runtime.events.for_component("machinepool-controller"),
        clock=runtime.clock,
        node_keys=mapping.of_node,
        infra_machine_keys=unblocking_only(mapping.of_infra_machine),
        applied=runtime.metrics.remember(SSACache("machinepool")),
    )
    controller = Controller("machinepool", MachinePoolReconciler(dependencies).reconcile)
    dependencies.controller = controller
    controller.watch(objects.pools, on_create_or_delete)
    controller.watch(objects.pools, unblocking_only(on_update), debounce=STATUS_DEBOUNCE)
    controller.watch(objects.pools, on_update, debounce=AGGREGATE_DEBOUNCE)
    owned = owner_keys(GroupKind(CLUSTER_GROUP, "MachinePool"))
    controller.watch(objects.machines, owned, debounce=AGGREGATE_DEBOUNCE)
    controller.watch(runtime.cache.informer(objects.clusters.resource), mapping.of_cluster)
    referred = by_reference(objects.pools, *REFERENCES)
    external.wake(controller, referred)

    def connection_changed(cluster: Key) -> None:
        for key in mapping.of(cluster):
            controller.enqueue(key)

    remote.subscribe(connection_changed)
    return runtime.add(controller, objects.pools)


class _Mapping:
    """Maps changes to the MachinePools that depend on them."""

    def __init__(self, objects: ClusterObjects) -> None:
        self._fleet = objects
        objects.machines.add_index(BY_POOL, pool_labels)
        objects.pools.add_index(BY_NODE, _node_names)
        objects.pools.add_index(BY_LABEL, _label)

    def of(self, cluster: Key) -> Iterable[Key]:
        """Return all pools of a Cluster."""
        return [Key.of(pool) for pool in self._fleet.pools_of(cluster)]

    def of_cluster(self, change: Change) -> Iterable[Key]:
        """Map a Cluster that appears or whose pause changes to its pools."""
        if change.old is not None and change.new is not None:
            before, after = (item["spec"].get("paused") for item in (change.old, change.new))
            if bool(before) == bool(after):
                return ()
        return self.of(Key.of(change.document))

    def of_infra_machine(self, change: Change) -> Iterable[Key]:
        """Map an infrastructure machine to the pool that its labels name."""
        return [
            key
            for label in pool_labels(change.document)
            for key in self._fleet.pools.keys_by_index(BY_LABEL, label)
        ]

    def of_node(self, cluster: Key, change: Change) -> Iterable[Key]:
        """Map a Node to its pool, by name, or by provider ID if it is new."""
        node = change.document
        for name in (node["metadata"]["name"], provider_id_of(node)):
            results = self._fleet.pools.list_by_index(BY_NODE, f"{cluster}/{name}") if name else ()
            if len(results) == 1:
                return (Key.of(results[0]),)
        return ()


def _label(pool: Document) -> Iterable[str]:
    metadata, name = pool["metadata"], pool["spec"].get("clusterName", "")
    yield f"{metadata.get('namespace', '')}/{name}/{label_value(metadata['name'])}"


def _node_names(pool: Document) -> Iterable[str]:
    cluster = cluster_of(pool)
    for ref in (pool.get("status") or {}).get("nodeRefs") or ():
        yield f"{cluster}/{ref['name']}"
    for provider_id in pool["spec"].get("providerIDList") or ():
        yield f"{cluster}/{provider_id}"
