"""The watches, mappers and wiring of the MachineDeployment controller."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kapy.api.names import CLUSTER_GROUP, Annotation, Label
from kapy.contract.cluster_objects import (
    ClusterObjects,
    by_reference,
    cluster_of,
    on_create_or_delete,
    on_update,
)
from kapy.contract.external import External, owner_keys
from kapy.contract.predicates import unblocking_only
from kapy.core.machinedeployment.reconcile import MachineDeploymentReconciler
from kapy.core.machinedeployment.scope import Dependencies, SetUpdates
from kapy.engine.cache import Change
from kapy.engine.controller import AGGREGATE_DEBOUNCE, STATUS_DEBOUNCE, Controller
from kapy.engine.runtime import Runtime
from kapy.engine.ssa_cache import SSACache
from kapy.kube import Document, Key
from kapy.kube.names import GroupKind
from kapy.kube.selectors import selector_of
from kapy.remote.cluster_cache import ClusterCache

TEMPLATES = (
    ("spec", "template", "spec", "bootstrap", "configRef"),
    ("spec", "template", "spec", "infrastructureRef"),
)


def add_to(
    runtime: Runtime, _remote: ClusterCache, *, updates: SetUpdates | None = None
) -> Controller:
    """Add the MachineDeployment controller to a runtime. updates: tells which Machines can be
    updated in place, None if the feature is off.
    """
    objects = ClusterObjects(runtime.cache)
    external = External(runtime.client, runtime.cache)
    dependencies = Dependencies(
        client=runtime.client,
        external=external,
        fleet=objects,
        events=runtime.events.for_component("machinedeployment-controller"),
        clock=runtime.clock,
        applied=runtime.metrics.remember(SSACache("machinedeployment")),
        updates=updates,
    )
    mapping = _Mapping(objects)
    controller = Controller(
        "machinedeployment", MachineDeploymentReconciler(dependencies).reconcile
    )
    controller.watch(objects.deployments, on_create_or_delete)
    controller.watch(objects.deployments, unblocking_only(on_update), debounce=STATUS_DEBOUNCE)
    controller.watch(objects.deployments, on_update, debounce=AGGREGATE_DEBOUNCE)
    owned = owner_keys(GroupKind(CLUSTER_GROUP, "MachineDeployment"))
    controller.watch(objects.machine_sets, owned, debounce=AGGREGATE_DEBOUNCE)
    controller.watch(objects.machine_sets, mapping.of_orphan)
    if updates is not None:
        controller.watch(objects.machines, _if_marked)
    controller.watch(runtime.cache.informer(objects.clusters.resource), mapping.of_cluster)
    external.wake(controller, by_reference(objects.deployments, *TEMPLATES))
    return runtime.add(controller, objects.deployments)


MARKS: Final = (
    Annotation.UPDATE_IN_PROGRESS,
    Annotation.PENDING_ACKNOWLEDGE_MOVE,
    Annotation.PENDING_HOOKS,
)


def _if_marked(change: Change) -> Iterable[Key]:
    """Map a Machine that was moved, or whose update begins or ends, to its MachineDeployment."""
    old, new = change.old, change.new
    if old is None or new is None or _marks(old) == _marks(new):
        return ()
    name = (new["metadata"].get("labels") or {}).get(Label.DEPLOYMENT_NAME)
    return (Key(new["metadata"]["namespace"], name),) if name else ()


def _marks(machine: Document) -> list[str | None]:
    annotations = machine["metadata"].get("annotations") or {}
    return [annotations.get(mark) for mark in MARKS]


class _Mapping:
    """Maps changes to the MachineDeployments that depend on them."""

    def __init__(self, objects: ClusterObjects) -> None:
        self._fleet = objects

    def of_orphan(self, change: Change) -> Iterable[Key]:
        """Return the MachineDeployments that may adopt a MachineSet without a controller."""
        machine_set = change.document
        owners = machine_set["metadata"].get("ownerReferences") or ()
        cluster = cluster_of(machine_set)
        if cluster is None or any(owner.get("controller") for owner in owners):
            return ()
        deployments = self._fleet.deployments_of(cluster)
        return [
            Key.of(deployment) for deployment in deployments if _selects(deployment, machine_set)
        ]

    def of_cluster(self, change: Change) -> Iterable[Key]:
        """Map a Cluster that appears or whose pause changes to its MachineDeployments."""
        if change.old is not None and change.new is not None:
            before, after = (item["spec"].get("paused") for item in (change.old, change.new))
            if bool(before) == bool(after):
                return ()
        cluster = Key.of(change.document)
        return [Key.of(deployment) for deployment in self._fleet.deployments_of(cluster)]


def _selects(deployment: Document, machine_set: Document) -> bool:
    selector = deployment["spec"].get("selector") or {}
    return bool(selector) and selector_of(selector).selects(machine_set)
