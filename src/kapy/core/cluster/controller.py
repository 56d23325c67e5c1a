"""The watches, mappers and wiring of the Cluster controller."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any, Final

from kapy.api.cluster_class import ClusterClass
from kapy.api.names import Label
from kapy.contract.classes import clusters_of_class
from kapy.contract.cluster_objects import (
    ClusterObjects,
    Path,
    by_reference,
    cluster_of,
    on_create_or_delete,
    on_update,
)
from kapy.contract.external import External
from kapy.contract.predicates import unblocking_only
from kapy.core.cluster.reconcile import ClusterReconciler
from kapy.core.cluster.scope import Dependencies
from kapy.engine.cache import Cache, Change, Informer
from kapy.engine.controller import AGGREGATE_DEBOUNCE, STATUS_DEBOUNCE, Controller, Mapper
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.remote.cluster_cache import ClusterCache

REFERENCES: Final[tuple[Path, ...]] = (("spec", "infrastructureRef"), ("spec", "controlPlaneRef"))
CLUSTER_DEBOUNCE: Final = 0.15
"""Seconds to gather what is only summed up here, after others have summed it up already."""
PER_WORKER: Final = 0.001  # seconds; aggregating takes a hundredth of that
MAX_DEBOUNCE: Final = 1.0


def add_to(
    runtime: Runtime, remote: ClusterCache, *, grace: timedelta = timedelta(seconds=50)
) -> Controller:
    """Add the Cluster controller to a runtime.

    grace: how long a workload cluster may be unreachable before RemoteConnectionProbe is False.
    """
    objects = ClusterObjects(runtime.cache)
    external = External(runtime.client, runtime.cache)
    gates = runtime.options.gates
    classes = runtime.cache.informer(ClusterClass.RESOURCE)
    dependencies = Dependencies(
        client=runtime.client,
        external=external,
        remote=remote,
        fleet=objects,
        classes=classes,
        events=runtime.events.for_component("cluster-controller"),
        clock=runtime.clock,
        keys=runtime.private_keys,
        grace=grace,
        has_delete_hooks=gates.runtime_sdk and gates.cluster_topology,
    )
    clusters = runtime.cache.informer(objects.clusters.resource)
    controller = Controller(
        "cluster", ClusterReconciler(dependencies).reconcile, requeue_on_own_writes=False
    )
    unhurried = debounce_for(clusters)
    controller.watch(clusters, on_create_or_delete)
    controller.watch(clusters, unblocking_only(on_update), debounce=STATUS_DEBOUNCE)
    controller.watch(clusters, on_update, debounce=unhurried)
    controller.watch(classes, of_class(runtime.cache), debounce=AGGREGATE_DEBOUNCE)
    controller.watch(objects.deployments, cluster_keys, debounce=unhurried)
    controller.watch(objects.pools, cluster_keys, debounce=unhurried)
    controller.watch(objects.machine_sets, of_machine_set, debounce=unhurried)
    controller.watch(objects.machines, of_machine, debounce=unhurried)
    controller.watch(remote.secrets, of_authority)
    referred = by_reference(clusters, *REFERENCES)
    external.wake(controller, unblocking_only(referred), gather=STATUS_DEBOUNCE)
    external.wake(controller, referred, gather=unhurried)
    remote.subscribe(controller.enqueue)
    return runtime.add(controller, clusters)


def debounce_for(clusters: Informer[Document]) -> Callable[[Key], float]:
    """Return the debounce time for changes of a Cluster's parts: it grows with the number of
    workers, so that a rollout does not aggregate all Machines at each step.
    """

    def seconds(cluster: Key) -> float:
        document = clusters.raw(cluster) or {}
        workers = ((document.get("status") or {}).get("workers") or {}).get("replicas") or 0
        return min(CLUSTER_DEBOUNCE + workers * PER_WORKER, MAX_DEBOUNCE)

    return seconds


def of_class(cache: Cache) -> Mapper:
    """Return a mapper from a ClusterClass whose availability gates changed to its Clusters."""
    clusters_of = clusters_of_class(cache)

    def keys(change: Change) -> Iterable[Key]:
        if change.initial or _gates(change.old) == _gates(change.new):
            return ()
        return clusters_of(Key.of(change.document))

    return keys


def _gates(cluster_class: Document | None) -> Any:
    return cluster_class and cluster_class["spec"].get("availabilityGates")


def cluster_keys(change: Change) -> Iterable[Key]:
    """Map an object to its Cluster."""
    cluster = cluster_of(change.document)
    return () if cluster is None else (cluster,)


def of_authority(change: Change) -> Iterable[Key]:
    """Map a CA Secret that was created or repaired to its Cluster: the kubeconfig can be
    made now.
    """
    metadata = change.document["metadata"]
    name = (metadata.get("labels") or {}).get(Label.CLUSTER_NAME)
    is_news = change.old is None or change.old.get("data") != change.document.get("data")
    if name and is_news and metadata["name"] == f"{name}-ca":
        yield Key(metadata["namespace"], name)


def of_machine_set(change: Change) -> Iterable[Key]:
    """Map a standalone or deleted MachineSet to its Cluster.

    An owned set affects the Cluster through its owner's status, except for its deletion.
    """
    if change.new is None or _is_child_of_cluster(change.document):
        return cluster_keys(change)
    return ()


def of_machine(change: Change) -> Iterable[Key]:
    """Map a Machine that is standalone, deleted, or the first of a control plane to its Cluster."""
    if change.new is None or _is_child_of_cluster(change.document) or _hosts_first_node(change):
        return cluster_keys(change)
    return ()


def _is_child_of_cluster(document: Document) -> bool:
    owners = document["metadata"].get("ownerReferences") or ()
    return any(owner["kind"] == "Cluster" for owner in owners)


def _hosts_first_node(change: Change) -> bool:
    """Return whether a control plane Machine has just got its Node."""
    if change.new is None or Label.CONTROL_PLANE not in (
        change.new["metadata"].get("labels") or {}
    ):
        return False
    return _has_node(change.new) and not (change.old is not None and _has_node(change.old))


def _has_node(machine: Document) -> bool:
    return bool((machine.get("status") or {}).get("nodeRef"))
