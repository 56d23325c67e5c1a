"""The watches, mappers and wiring of the MachineSet controller."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from kapy.api.names import CLUSTER_GROUP, Annotation, ConditionType, Label
from kapy.contract.cluster_objects import (
    ClusterObjects,
    by_reference,
    cluster_of,
    on_create_or_delete,
    on_update,
)
from kapy.contract.external import External, owner_keys
from kapy.contract.predicates import unblocking_only
from kapy.core.machineset.preflight import ALL
from kapy.core.machineset.reconcile import MachineSetReconciler
from kapy.core.machineset.scope import Dependencies
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
    runtime: Runtime, _remote: ClusterCache, *, preflight: Collection[str] = (ALL,)
) -> Controller:
    """Add the MachineSet controller to a runtime. preflight: names of the checks before Machines
    are created (`--machine-set-preflight-checks`), empty if the feature is off.
    """
    objects = ClusterObjects(runtime.cache)
    external = External(runtime.client, runtime.cache)
    dependencies = Dependencies(
        client=runtime.client,
        cache=runtime.cache,
        external=external,
        fleet=objects,
        events=runtime.events.for_component("machineset-controller"),
        clock=runtime.clock,
        preflight=frozenset(preflight),
        applied=runtime.metrics.remember(SSACache("machineset")),
    )
    mapping = _Mapping(runtime, objects)
    controller = dependencies.controller = Controller(
        "machineset",
        MachineSetReconciler(dependencies).reconcile,
        requeue_on_own_writes=False,
    )
    controller.watch(objects.machine_sets, on_create_or_delete)
    controller.watch(objects.machine_sets, unblocking_only(on_update), debounce=STATUS_DEBOUNCE)
    controller.watch(objects.machine_sets, on_update, debounce=AGGREGATE_DEBOUNCE)
    owned = owner_keys(GroupKind(CLUSTER_GROUP, "MachineSet"))
    controller.watch(objects.machines, owned, debounce=AGGREGATE_DEBOUNCE)
    controller.watch(objects.machines, mapping.of_orphan)
    controller.watch(objects.deployments, mapping.of_deployment)
    controller.watch(runtime.cache.informer(objects.clusters.resource), mapping.of_cluster)
    external.wake(controller, by_reference(objects.machine_sets, *TEMPLATES))
    external.wake(controller, mapping.of_control_plane)
    return runtime.add(controller, objects.machine_sets)


class _Mapping:
    """Maps changes to the MachineSets that depend on them."""

    def __init__(self, runtime: Runtime, objects: ClusterObjects) -> None:
        self._fleet = objects
        clusters = runtime.cache.informer(objects.clusters.resource)
        self._controlled = by_reference(clusters, ("spec", "controlPlaneRef"))

    def of_orphan(self, change: Change) -> Iterable[Key]:
        """Return the sets that may adopt a Machine without a controller."""
        machine = change.document
        owners = machine["metadata"].get("ownerReferences") or ()
        cluster = cluster_of(machine)
        if cluster is None or any(owner.get("controller") for owner in owners):
            return ()
        sets = self._fleet.machine_sets_of(cluster)
        return [Key.of(machine_set) for machine_set in sets if _selects(machine_set, machine)]

    def of_cluster(self, change: Change) -> Iterable[Key]:
        """Map a Cluster to all its sets if it appears or its pause changes; otherwise to the sets
        that wait for its control plane.
        """
        key, old, new = Key.of(change.document), change.old, change.new
        if old is None or new is None or _is_paused(old) != _is_paused(new):
            return self._of(key)
        return self._waiting(key) if _version_fields(old) != _version_fields(new) else ()

    def of_deployment(self, change: Change) -> Iterable[Key]:
        """Map a MachineDeployment whose remediation settings changed to its sets."""
        if change.old is not None and change.new is not None:
            before, after = map(_remediation_fields, (change.old, change.new))
            if before == after:
                return ()
        document = change.document
        cluster, name = cluster_of(document), document["metadata"]["name"]
        if cluster is None:
            return ()
        return [
            Key.of(machine_set)
            for machine_set in self._fleet.machine_sets_of(cluster)
            if (machine_set["metadata"].get("labels") or {}).get(Label.DEPLOYMENT_NAME) == name
            and _is_remediating(machine_set)
        ]

    def of_control_plane(self, change: Change) -> Iterable[Key]:
        """Map a control plane to the sets whose preflight checks may depend on it."""
        return [key for cluster in self._controlled(change) for key in self._waiting(cluster)]

    def _waiting(self, cluster: Key) -> list[Key]:
        sets = self._fleet.machine_sets_of(cluster)
        return [
            Key.of(machine_set)
            for machine_set in sets
            if _lacks_machines(machine_set) or _is_remediating(machine_set)
        ]

    def _of(self, cluster: Key) -> Iterable[Key]:
        return [Key.of(machine_set) for machine_set in self._fleet.machine_sets_of(cluster)]


def _is_paused(cluster: Document) -> bool:
    return bool(cluster["spec"].get("paused"))


def _version_fields(cluster: Document) -> tuple[object, ...]:
    """Return the fields of a Cluster that affect the preflight checks."""
    spec, annotations = cluster["spec"], cluster["metadata"].get("annotations") or {}
    version = (spec.get("topology") or {}).get("version")
    return version, annotations.get(Annotation.TOPOLOGY_UPGRADE_STEP), spec.get("controlPlaneRef")


def _remediation_fields(deployment: Document) -> tuple[object, object]:
    annotations = deployment["metadata"].get("annotations") or {}
    return annotations.get(Annotation.REVISION), deployment["spec"].get("remediation")


def _lacks_machines(machine_set: Document) -> bool:
    has = (machine_set.get("status") or {}).get("replicas") or 0
    return has < (machine_set["spec"].get("replicas") or 0)


def _is_remediating(machine_set: Document) -> bool:
    """Return whether Machines of the set are to be remediated."""
    return any(
        condition["type"] == ConditionType.REMEDIATING and condition["status"] == "True"
        for condition in (machine_set.get("status") or {}).get("conditions") or ()
    )


def _selects(machine_set: Document, machine: Document) -> bool:
    selector = machine_set["spec"].get("selector") or {}
    return bool(selector) and selector_of(selector).selects(machine)
