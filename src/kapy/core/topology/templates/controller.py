"""The controllers that delete unused templates, and their mappers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from kapy.contract.cluster_objects import ClusterObjects, on_create_or_delete
from kapy.contract.external import External
from kapy.core.topology.owned import is_owned
from kapy.core.topology.templates.reconcile import (
    DeploymentTemplateReconciler,
    SetTemplateReconciler,
    TemplateReconciler,
)
from kapy.core.topology.templates.unused import Dependencies
from kapy.engine.cache import Change, Informer
from kapy.engine.controller import Controller, Mapper
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key

CONCURRENCY: Final = 25


def add_to(runtime: Runtime, objects: ClusterObjects, external: External) -> None:
    """Add the controllers of the templates of MachineDeployments and MachineSets to a runtime."""
    dependencies = Dependencies(runtime.client, external, objects, runtime.clock)
    clusters = runtime.cache.informer(objects.clusters.resource)

    def add(
        name: str,
        reconciler: TemplateReconciler[Any],
        informer: Informer[Any],
        parts: Callable[[Key], Sequence[Document]],
    ) -> None:
        controller = Controller(name, reconciler.reconcile, concurrency=CONCURRENCY)
        controller.watch(informer, map_to_owner)
        controller.watch(clusters, of_unpaused(parts))
        runtime.add(controller, informer)

    deployments, sets = DeploymentTemplateReconciler, SetTemplateReconciler
    add(
        "topology/machinedeployment",
        deployments(dependencies),
        objects.deployments,
        objects.deployments_of,
    )
    add("topology/machineset", sets(dependencies), objects.machine_sets, objects.machine_sets_of)


def map_to_owner(change: Change) -> Iterable[Key]:
    """Map creation, deletion and unpausing of a topology's object to its key."""
    if not is_owned(change.document):
        return ()
    old, new = change.old, change.new
    annotations = [(item or {}).get("metadata", {}).get("annotations") for item in (old, new)]
    if annotations[0] != annotations[1]:
        return (Key.of(change.document),)
    return on_create_or_delete(change)


def of_unpaused(parts: Callable[[Key], Sequence[Document]]) -> Mapper:
    """Return a mapper from an unpaused Cluster to its parts in deletion."""

    def keys(change: Change) -> Iterable[Key]:
        was = change.old is not None and change.old["spec"].get("paused")
        if not was or change.new is None or change.new["spec"].get("paused"):
            return ()
        return [Key.of(part) for part in parts(Key.of(change.new))]

    return keys
