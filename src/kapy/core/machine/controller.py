"""The watches, mappers and wiring of the Machine controller."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from kapy.api.features import DEFAULT_GATES, FeatureGates
from kapy.api.machine_drain_rule import MachineDrainRule
from kapy.api.names import Annotation, Label
from kapy.contract.cluster_objects import (
    BY_NODE,
    ClusterObjects,
    by_reference,
    cluster_of,
    on_create_or_delete,
    on_update,
)
from kapy.contract.external import External
from kapy.contract.predicates import unblocking_only
from kapy.core.machine.node_metadata import DEFAULT_SYNC, SyncedMetadata
from kapy.core.machine.reconcile import MachineReconciler
from kapy.core.machine.scope import Dependencies, InPlaceUpdater
from kapy.core.machine.temporary_watches import TemporaryWatches
from kapy.engine.cache import Change
from kapy.engine.controller import AGGREGATE_DEBOUNCE, STATUS_DEBOUNCE, Controller
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.remote.cluster_cache import ClusterCache


def add_to(
    runtime: Runtime,
    remote: ClusterCache,
    *,
    gates: FeatureGates = DEFAULT_GATES,
    synced: SyncedMetadata = DEFAULT_SYNC,
    grace: timedelta = timedelta(minutes=5),
    updates: InPlaceUpdater | None = None,
) -> Controller:
    """Add the Machine controller to a runtime.

    synced: additional labels and annotations for Nodes. grace: how long a workload cluster may be
    unreachable before Node conditions are Unknown. updates: updates Machines in place; None if the
    feature is off.
    """
    objects = ClusterObjects(runtime.cache)
    external = External(runtime.client, runtime.cache)
    mapping = _Mapping(objects)
    dependencies = Dependencies(
        client=runtime.client,
        external=external,
        remote=remote,
        fleet=objects,
        events=runtime.events.for_component("machine-controller"),
        clock=runtime.clock,
        node_keys=mapping.of_node,
        drain_rules=runtime.cache.informer(MachineDrainRule),
        temporary_watches=TemporaryWatches(remote),
        gates=gates,
        synced=synced,
        grace=grace,
        updates=updates,
    )
    controller = Controller(
        "machine", MachineReconciler(dependencies).reconcile, requeue_on_own_writes=False
    )
    dependencies.controller = controller
    controller.watch(objects.machines, on_create_or_delete)
    controller.watch(objects.machines, unblocking_only(on_update), debounce=STATUS_DEBOUNCE)
    controller.watch(objects.machines, on_update, debounce=AGGREGATE_DEBOUNCE)
    clusters = runtime.cache.informer(objects.clusters.resource)
    controller.watch(clusters, mapping.of_cluster, debounce=AGGREGATE_DEBOUNCE)
    controller.watch(objects.machine_sets, mapping.of_machine_set)
    controller.watch(objects.deployments, mapping.of_deployment)
    controller.watch(dependencies.drain_rules, mapping.of_drain_rule)
    references = ("spec", "bootstrap", "configRef"), ("spec", "infrastructureRef")
    referred = by_reference(objects.machines, *references)
    external.wake(controller, unblocking_only(referred), gather=STATUS_DEBOUNCE)
    external.wake(controller, referred, gather=AGGREGATE_DEBOUNCE)

    def connection_changed(cluster: Key) -> None:
        for key in mapping.of(cluster):
            controller.enqueue(key)

    remote.subscribe(connection_changed)
    return runtime.add(controller, objects.machines)


class _Mapping:
    """Maps changes to the Machines that depend on them."""

    def __init__(self, objects: ClusterObjects) -> None:
        self._machines = objects.machines
        self._fleet = objects

    def of(self, cluster: Key) -> Iterable[Key]:
        """Return all Machines of a Cluster."""
        return [Key.of(machine) for machine in self._fleet.machines_of(cluster)]

    def of_cluster(self, change: Change) -> Iterable[Key]:
        if change.old is not None and change.new is not None and not _matters(change):
            return ()
        return self.of(Key.of(change.document))

    def of_machine_set(self, change: Change) -> Iterable[Key]:
        if not _template_changed(change):
            return ()
        name = change.document["metadata"]["name"]
        cluster = cluster_of(change.document)
        machines = self._fleet.machines_of(cluster) if cluster else ()
        return [Key.of(machine) for machine in machines if _is_owned_by_set(machine, name)]

    def of_deployment(self, change: Change) -> Iterable[Key]:
        if not _template_changed(change):
            return ()
        name = change.document["metadata"]["name"]
        cluster = cluster_of(change.document)
        machines = self._fleet.machines_of(cluster) if cluster else ()
        return [
            Key.of(machine)
            for machine in machines
            if (machine["metadata"].get("labels") or {}).get(Label.DEPLOYMENT_NAME) == name
        ]

    def of_drain_rule(self, change: Change) -> Iterable[Key]:
        """Map a rule to the Machines in deletion in its namespace."""
        if change.initial:
            return ()
        machines = self._machines.list(Key.of(change.document).namespace)
        return [
            Key.of(machine) for machine in machines if machine["metadata"].get("deletionTimestamp")
        ]

    def of_node(self, cluster: Key, change: Change) -> Iterable[Key]:
        """Map a Node to its Machine, by name, or by provider ID if the Node is not recorded yet."""
        node = change.document
        names = [f"{cluster}/{node['metadata']['name']}"]
        if provider_id := (node.get("spec") or {}).get("providerID"):
            names.append(f"{cluster}/{provider_id}")
        for name in names:
            results = self._machines.list_by_index(BY_NODE, name)
            if len(results) == 1:
                return (Key.of(results[0]),)
        return ()


def _matters(change: Change) -> bool:
    """Return whether a change of a Cluster affects its Machines."""
    return _relevant_state(change.old) != _relevant_state(change.new)


def _relevant_state(cluster: Document | None) -> object:
    assert cluster is not None
    spec, status = cluster.get("spec") or {}, cluster.get("status") or {}
    initialized = [
        condition["status"]
        for condition in status.get("conditions") or ()
        if condition["type"] == "ControlPlaneInitialized"
    ]
    return (
        spec.get("paused"),
        spec.get("controlPlaneRef"),
        (status.get("initialization") or {}).get("infrastructureProvisioned"),
        initialized,
        cluster["metadata"].get("deletionTimestamp"),
    )


def _template_changed(change: Change) -> bool:
    """Return whether the inputs of UpToDate changed: template, revision, rollout.after."""
    if change.old is None or change.new is None:
        return True
    return _compared_fields(change.old) != _compared_fields(change.new)


def _compared_fields(owner: Document) -> object:
    spec, metadata = owner["spec"], owner["metadata"]
    return (
        spec.get("template"),
        spec.get("rollout"),
        (metadata.get("annotations") or {}).get(Annotation.REVISION),
    )


def _is_owned_by_set(machine: Document, name: str) -> bool:
    owners = machine["metadata"].get("ownerReferences") or ()
    return any(owner["kind"] == "MachineSet" and owner["name"] == name for owner in owners)
