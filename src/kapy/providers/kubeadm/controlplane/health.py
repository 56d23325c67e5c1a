"""Inspect the workload cluster: components, etcd, and whether it is initialized."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from kapy.api.machine import Machine
from kapy.api.machines import is_updating_in_place
from kapy.api.names import ConditionType as T
from kapy.api.names import Reason
from kapy.api.names_v1beta1 import V1Beta1Type
from kapy.api.times import moment, stamp
from kapy.kube import Document, Key
from kapy.kube.errors import NotFound
from kapy.kube.names import CONFIG_MAPS, NODES, PODS
from kapy.providers.kubeadm.controlplane.components import (
    ROLE_LABEL,
    components_of,
    observe_components,
)
from kapy.providers.kubeadm.controlplane.dependencies import Dependencies
from kapy.providers.kubeadm.controlplane.etcd_access import read_etcd
from kapy.providers.kubeadm.controlplane.etcd_health import nodes_to_query, observe_etcd
from kapy.providers.kubeadm.controlplane.scope import (
    ControlPlane,
    is_to_be_remediated,
    node_name,
)
from kapy.remote.cluster_cache import Health, NotConnected
from kapy.sdk import DONE, Result, conditions, requeue, v1beta1
from kapy.sdk.controllers import Change

CountChanges: TypeAlias = Callable[[Iterable[Key]], Iterable[Key]]
"""Counts changes of control planes, by key, and returns the keys."""

KUBEADM_CONFIG: Final = Key("kube-system", "kubeadm-config")
STATIC_PODS: Final = "tier=control-plane"
_INITIALIZE_INTERVAL: Final = timedelta(seconds=5)
_ETCD_INTERVAL: Final = timedelta(seconds=15)


async def observe(dependencies: Dependencies, plane: ControlPlane) -> Result | None:
    """Write the health of components and etcd to the Machines and the control plane. Raises
    NotConnected while the workload cluster cannot be inspected; a new connection enqueues the
    control plane.
    """
    failed = True
    try:
        for machine in plane.machines:
            _set_up_to_date(plane, machine)
        if not plane.is_initialized:
            await _initialize(dependencies, plane)
        if plane.is_initialized:
            await _inspect(dependencies, plane)
        else:
            message = "Waiting for Cluster control plane to be initialized"
            _set_unknown(plane, Reason.INSPECTION_FAILED, message)
        failed = False
    except NotConnected:
        failed = False
        raise
    finally:
        await _save_machines(dependencies, plane, failed=failed)
    return None


async def _save_machines(dependencies: Dependencies, plane: ControlPlane, *, failed: bool) -> None:
    delayed = dependencies.cache.delayed_machine_statuses
    for draft in plane.drafts:
        if not failed and (wait := delayed.wait(draft, plane.now)) is not DONE:
            plane.requeue_by(wait)
            continue
        with suppress(NotFound):  # it was just deleted, which enqueues the control plane
            await draft.save()


async def _initialize(dependencies: Dependencies, plane: ControlPlane) -> None:
    """kubeadm stores its configuration in the cluster once `kubeadm init` is almost done."""
    machines = plane.machines
    if len(machines) == 1 and (machines[0].deleting or is_to_be_remediated(machines[0])):
        # Removed before another machine could join it.
        return
    try:
        client = dependencies.remote.client(plane.cluster.key)
    except NotConnected:
        return
    _watch(dependencies, plane)
    try:
        await client.get(CONFIG_MAPS, KUBEADM_CONFIG)
    except NotFound:
        # A timer, because watching all ConfigMaps of a cluster for one of them is not worth it.
        # Nodes and Pods that kubeadm creates around it enqueue the control plane earlier.
        plane.requeue_by(
            requeue(after=_INITIALIZE_INTERVAL, because="kubeadm has not stored its config yet")
        )
        return
    plane.kcp.status.initialization.control_plane_initialized = True
    plane.set(conditions.true(T.INITIALIZED, Reason.INITIALIZED))


async def _inspect(dependencies: Dependencies, plane: ControlPlane) -> None:
    health = dependencies.remote.health(plane.cluster.key)
    if health.is_establishing:
        message = "Remote connection not established yet"
        _set_unknown(plane, Reason.CONNECTION_DOWN, message, overwrite=False)
        plane.is_observed = False
        raise NotConnected(f"cluster {plane.cluster.key}: {message}")
    since = _silence_since(plane, health)
    message = _last_probe(health)
    if plane.now - since > dependencies.grace:
        _set_unknown(plane, Reason.CONNECTION_DOWN, message)
        raise NotConnected(f"the connection to cluster {plane.cluster.key} is down")
    try:
        nodes, pods = _watch(dependencies, plane)
    except NotConnected:
        _set_unknown(plane, Reason.CONNECTION_DOWN, message, overwrite=False)
        plane.is_observed = False
        # A timer, because the end of the grace period is no event.
        remaining = since + dependencies.grace - plane.now + timedelta(seconds=1)
        plane.requeue_by(requeue(after=remaining, because="the workload cluster cannot be reached"))
        raise
    observe_components(plane, nodes, pods)
    if plane.is_etcd_managed:
        cluster, candidates = plane.cluster.key, nodes_to_query(plane)
        observe_etcd(plane, await read_etcd(dependencies, cluster, candidates))
        if not conditions.is_true(plane.kcp.status.conditions, T.ETCD_CLUSTER_HEALTHY):
            # A timer, because etcd is queried and not watched: no event shows that it has
            # recovered.
            plane.requeue_by(requeue(after=_ETCD_INTERVAL, because="etcd is not healthy"))
    else:
        # The owner of an external etcd may report its condition: keep that.
        plane.set_v1beta1(v1beta1.true(V1Beta1Type.ETCD_CLUSTER_HEALTHY))


def _silence_since(plane: ControlPlane, health: Health) -> datetime:
    """Return the time from which the workload cluster has been silent: the last response, or the
    initialization if that was later.
    """
    initialized = conditions.get(plane.kcp.status.conditions, T.INITIALIZED)
    assert initialized is not None
    began = moment(initialized.last_transition_time)
    return began if health.last_success is None else max(began, health.last_success)


def _last_probe(health: Health) -> str:
    success = health.last_success
    return "" if success is None else f"Last successful probe at {stamp(success)}"


def _watch(
    dependencies: Dependencies, plane: ControlPlane
) -> tuple[dict[str, Document], dict[str, Document]]:
    """Control plane nodes and static pods by name, watched from now on. Raises NotConnected."""
    controller, cluster = dependencies.controller, plane.cluster.key
    assert controller is not None
    remote, kcp = dependencies.remote, plane.kcp.key
    result = dependencies.steady_states.increment
    nodes = remote.watch(controller, cluster, NODES, NodeMapper(kcp, result))
    pods = remote.watch(controller, cluster, PODS, PodMapper(kcp, result), labels=STATIC_PODS)
    ours = {node_name(machine) for machine in plane.machines}
    return (
        {
            node["metadata"]["name"]: node
            for node in nodes.list()
            if node["metadata"]["name"] in ours or _has_role(node)
        },
        {pod["metadata"]["name"]: pod for pod in pods.list(KUBEADM_CONFIG.namespace)},
    )


@dataclass(frozen=True, slots=True)
class NodeMapper:
    """Maps control plane Nodes to their control plane, ignoring heartbeats.

    Equal mappers count as one for a controller, so repeated calls add one watch.
    """

    kcp: Key
    count_changes: CountChanges

    def __call__(self, _: Key, change: Change) -> Iterable[Key]:
        documents = [item for item in (change.old, change.new) if item is not None]
        matters = any(map(_has_role, documents)) and _has_changed(change, _node_fields)
        return self.count_changes((self.kcp,)) if matters else ()


@dataclass(frozen=True, slots=True)
class PodMapper:
    """Map a static pod whose condition changed to its control plane."""

    kcp: Key
    count_changes: CountChanges

    def __call__(self, _: Key, change: Change) -> Iterable[Key]:
        return self.count_changes((self.kcp,)) if _has_changed(change, _pod_fields) else ()


def _has_changed(change: Change, facts: Callable[[Document], object]) -> bool:
    if change.old is None or change.new is None:
        return True
    return facts(change.old) != facts(change.new)


def _has_role(node: Document) -> bool:
    return ROLE_LABEL in (node["metadata"].get("labels") or {})


def _node_fields(node: Document) -> object:
    ready = [
        condition["status"]
        for condition in (node.get("status") or {}).get("conditions") or ()
        if condition["type"] == "Ready"
    ]
    return node["metadata"].get("labels"), (node.get("spec") or {}).get("taints"), ready


def _pod_fields(pod: Document) -> object:
    status = pod.get("status") or {}
    reported = [
        (condition["type"], condition["status"]) for condition in status.get("conditions") or ()
    ]
    return status.get("phase"), reported, status.get("containerStatuses")


def _set_up_to_date(plane: ControlPlane, machine: Machine) -> None:
    outdated = plane.outdated.get(machine.metadata.name)
    if outdated:
        message = "\n".join(f"* {item}" for item in outdated.messages)
        plane.set_on(machine, conditions.false(T.UP_TO_DATE, Reason.NOT_UP_TO_DATE, message))
        return
    if is_updating_in_place(machine):
        plane.set_on(
            machine, conditions.false(T.UP_TO_DATE, Reason.UPDATING, _update_progress(machine))
        )
        return
    info = machine.status.node_info
    running = info.kubelet_version if info is not None else ""
    if running and running != machine.spec.version:
        message = (
            f"* Node.status.nodeInfo.kubeletVersion {running}, {machine.spec.version} required"
        )
        plane.set_on(machine, conditions.false(T.UP_TO_DATE, Reason.UPDATING, message))
        return
    plane.set_on(machine, conditions.true(T.UP_TO_DATE, Reason.UP_TO_DATE))


def _update_progress(machine: Machine) -> str:
    """Return the progress of an in-place update."""
    updating = conditions.get(machine.status.conditions, T.UPDATING)
    if updating is not None and updating.status == conditions.TRUE and updating.message:
        return f"* {updating.message}"
    return "* In-place update in progress"


def _set_unknown(plane: ControlPlane, reason: str, message: str, *, overwrite: bool = True) -> None:
    """Set all conditions about the workload cluster to Unknown; without `overwrite` only missing
    ones."""
    reported = plane.kcp.status.conditions
    if plane.is_etcd_managed and (
        overwrite or not conditions.has(reported, T.ETCD_CLUSTER_HEALTHY)
    ):
        plane.set(conditions.unknown(T.ETCD_CLUSTER_HEALTHY, reason, message))
        for machine in plane.machines:
            plane.set_on(machine, conditions.unknown(T.ETCD_MEMBER_HEALTHY, reason, message))
    if overwrite or not conditions.has(reported, T.CONTROL_PLANE_COMPONENTS_HEALTHY):
        plane.set(conditions.unknown(T.CONTROL_PLANE_COMPONENTS_HEALTHY, reason, message))
        for machine in plane.machines:
            for type_ in (T.NODE_KUBEADM_LABELS_AND_TAINTS_SET, *components_of(plane).values()):
                plane.set_on(machine, conditions.unknown(type_, reason, message))
