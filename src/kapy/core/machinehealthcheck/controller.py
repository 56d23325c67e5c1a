"""The watches, mappers and wiring of the MachineHealthCheck controller."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kapy.api.machine_health_check import MachineHealthCheck
from kapy.api.names import ConditionType
from kapy.contract.cluster_objects import (
    BY_CLUSTER,
    BY_NODE,
    ClusterObjects,
    by_cluster,
    cluster_of,
    on_create_or_delete,
    on_update,
)
from kapy.core.machinehealthcheck.reconcile import MachineHealthCheckReconciler
from kapy.core.machinehealthcheck.scope import Dependencies
from kapy.engine.cache import Change, Informer
from kapy.engine.controller import AGGREGATE_DEBOUNCE, Controller
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.names import CRDS
from kapy.kube.selectors import InvalidSelector, selector_of
from kapy.remote.cluster_cache import ClusterCache


def add_to(runtime: Runtime, remote: ClusterCache) -> Controller:
    """Add the MachineHealthCheck controller to a runtime."""
    objects = ClusterObjects(runtime.cache)
    checks = runtime.cache.informer(MachineHealthCheck.RESOURCE)
    mapping = _Mapping(objects, checks)
    dependencies = Dependencies(
        client=runtime.client,
        cache=runtime.cache,
        remote=remote,
        fleet=objects,
        checks=checks,
        events=runtime.events.for_component("machinehealthcheck-controller"),
        clock=runtime.clock,
        node_keys=mapping.of_node,
        template_keys=mapping.of_template,
        request_keys=mapping.of_request,
    )
    controller = Controller(
        "machinehealthcheck", MachineHealthCheckReconciler(dependencies).reconcile
    )
    dependencies.controller = controller
    controller.watch(checks, on_create_or_delete)
    controller.watch(checks, on_update, debounce=AGGREGATE_DEBOUNCE)
    controller.watch(objects.machines, mapping.of_machine, debounce=AGGREGATE_DEBOUNCE)
    clusters = runtime.cache.informer(objects.clusters.resource)
    controller.watch(clusters, mapping.of_cluster, debounce=AGGREGATE_DEBOUNCE)
    controller.watch(runtime.cache.informer(CRDS), mapping.of_crd)

    def connection_changed(cluster: Key) -> None:
        for key in mapping.of(cluster):
            controller.enqueue(key)

    remote.subscribe(connection_changed)
    return runtime.add(controller, checks)


class _Mapping:
    """Maps changes to the MachineHealthChecks that depend on them."""

    def __init__(self, objects: ClusterObjects, checks: Informer[Document]) -> None:
        self._machines = objects.machines
        self._checks = checks
        checks.add_index(BY_CLUSTER, by_cluster)

    def of(self, cluster: Key) -> Iterable[Key]:
        """Return all checks of a Cluster."""
        return [Key.of(item) for item in self._of(cluster)]

    def of_cluster(self, change: Change) -> Iterable[Key]:
        old, new = change.old, change.new
        if (
            old is not None
            and new is not None
            and _relevant_cluster_state(old) == _relevant_cluster_state(new)
        ):
            return ()
        return self.of(Key.of(change.document))

    def of_machine(self, change: Change) -> Iterable[Key]:
        """Return the checks that select the Machine, or did before the change."""
        old, new = change.old, change.new
        cluster = cluster_of(change.document)
        checks = self._of(cluster) if cluster else ()
        if not checks:
            return ()
        if (
            old is not None
            and new is not None
            and _relevant_machine_state(old) == _relevant_machine_state(new)
        ):
            return ()
        states = [item for item in (old, new) if item is not None]
        return [
            Key.of(check) for check in checks if any(_watches(check, state) for state in states)
        ]

    def of_node(self, cluster: Key, change: Change) -> Iterable[Key]:
        """Return the checks that select the Machine of a Node whose conditions changed."""
        old, new = change.old, change.new
        if old is not None and new is not None and _states(old) == _states(new):
            return
        name = change.document["metadata"]["name"]
        for machine in self._machines.list_by_index(BY_NODE, f"{cluster}/{name}"):
            yield from self.of_machine(Change(None, machine))

    def of_template(self, change: Change) -> Iterable[Key]:
        """Return the checks that refer to a remediation template."""
        document = change.document
        namespace, name = document["metadata"].get("namespace"), document["metadata"]["name"]
        for check in self._checks.list(namespace):
            reference = _template_of(check)
            if (reference.get("kind"), reference.get("name")) == (document["kind"], name):
                yield Key.of(check)

    def of_request(self, change: Change) -> Iterable[Key]:
        """Return the checks that select the Machine of a request; both have the same name."""
        machine = self._machines.raw(Key.of(change.document))
        return () if machine is None else self.of_machine(Change(None, machine))

    def of_crd(self, change: Change) -> Iterable[Key]:
        """Return the checks whose template kind is served from now on."""
        if change.old is None:
            kind = change.document["spec"]["names"]["kind"]
            for check in self._checks.list():
                if _template_of(check).get("kind") in (kind, f"{kind}Template"):
                    yield Key.of(check)

    def _of(self, cluster: Key) -> Sequence[Document]:
        return self._checks.list_by_index(BY_CLUSTER, str(cluster))


def _watches(check: Document, machine: Document) -> bool:
    try:
        selector = selector_of(check["spec"].get("selector"))
    except InvalidSelector:
        return False  # admission refuses such a check; an existing one has no effect
    return not selector.everything and selector.selects(machine)


def _template_of(check: Document) -> Document:
    ref: Document = (check["spec"].get("remediation") or {}).get("templateRef") or {}
    return ref


def _relevant_machine_state(machine: Document) -> object:
    """Return the fields of a Machine that affect its health."""
    metadata, status = machine["metadata"], machine.get("status") or {}
    return (
        metadata.get("labels"),
        metadata.get("annotations"),
        metadata.get("generation"),
        bool(metadata.get("deletionTimestamp")),
        status.get("nodeRef"),
        status.get("conditions"),
    )


def _states(node: Document) -> object:
    """Return a Node's conditions without their heartbeats."""
    return [
        (
            condition.get("type"),
            condition.get("status"),
            condition.get("reason"),
            condition.get("lastTransitionTime"),
        )
        for condition in (node.get("status") or {}).get("conditions") or ()
    ]


def _relevant_cluster_state(cluster: Document) -> object:
    """Return the fields of a Cluster that affect its Machines' health."""
    awaited = (ConditionType.CONTROL_PLANE_INITIALIZED, ConditionType.INFRASTRUCTURE_READY)
    conditions = (cluster.get("status") or {}).get("conditions") or ()
    return (
        (cluster.get("spec") or {}).get("paused"),
        [
            (condition["type"], condition["status"])
            for condition in conditions
            if condition["type"] in awaited
        ],
    )
