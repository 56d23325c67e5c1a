"""Which controllers a management plane runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kapy._aio.services import Service
from kapy.apps.control_plane_pods import ControlPlanePods, Pods
from kapy.apps.settings import Controlling
from kapy.client.kubeconfig import Kubeconfig
from kapy.core.cluster.controller import add_to as add_clusters
from kapy.core.clusterclass.controller import add_to as add_cluster_classes
from kapy.core.clusterresourceset.controller import add_to as add_cluster_resource_sets
from kapy.core.clusterresourcesetbinding.controller import add_to as add_resource_set_bindings
from kapy.core.machine.controller import add_to as add_machines
from kapy.core.machine.node_metadata import Synced
from kapy.core.machinedeployment.controller import add_to as add_machine_deployments
from kapy.core.machinehealthcheck.controller import add_to as add_machine_health_checks
from kapy.core.machinepool.controller import add_to as add_machine_pools
from kapy.core.machineset.controller import add_to as add_machine_sets
from kapy.core.topology.controller import add_to as add_topologies
from kapy.engine.runtime import Runtime
from kapy.kube.http import Transport
from kapy.providers.inmemory import InMemory
from kapy.providers.inmemory import add_to as add_in_memory
from kapy.providers.kubeadm.bootstrap.controller import add_to as add_bootstrap
from kapy.providers.kubeadm.controlplane.controller import add_to as add_control_planes
from kapy.remote.connections import Connections

if TYPE_CHECKING:
    from kapy.apps.extensions import Extensions
    from kapy.apps.extensions.in_place import InPlace
    from kapy.hooks.posting import Post
    from kapy.hooks.watched import WatchedPost


@dataclass(frozen=True, slots=True)
class Controllers:
    """What was added to a runtime.

    services: to be run beside it, by name. calls: of runtime extensions, where they are called.
    """

    connections: Connections
    services: dict[str, Service]
    calls: WatchedPost | None = None


@dataclass(frozen=True, slots=True)
class Doors:
    """The ways to extensions. updates: of Machines in place, None where that gate is closed."""

    called: Extensions
    updates: InPlace | None


def add_controllers(
    runtime: Runtime, told: Controlling, *, sockets: bool, post: Callable[[], Post]
) -> Controllers:
    """Add all controllers. Raises NoPort.

    sockets: workload clusters listen, for kubectl, and those of other providers are reached.
    post: the way to extensions, made where they are called.
    """
    in_memory = InMemory(clock=runtime.clock, elsewhere=over_network if sockets else None)
    connections = Connections(runtime, dial=in_memory.dial)
    in_memory.subscribe(connections.poke)
    pods = ControlPlanePods(runtime, in_memory, sockets=sockets)
    doors = extension_doors(runtime, told, post, reconciled="core" not in told.without)
    if "core" not in told.without:
        add_core(runtime, connections, told, doors)
    if "bootstrap-kubeadm" not in told.without:
        add_bootstrap(runtime, connections, token_life=told.token_life)
    if "control-plane-kubeadm" not in told.without:
        add_kubeadm_control_planes(runtime, connections, told, doors, pods)
    services: dict[str, Service] = {"connections": connections.run, **services_of(doors)}
    if "infrastructure-dev" not in told.without:
        add_in_memory(runtime, in_memory)
    if sockets and "infrastructure-dev" not in told.without:
        in_memory.listen()
        services["workload clusters"] = in_memory.serve
    return Controllers(connections, services, None if doors is None else doors.called.calls)


def over_network(kubeconfig: Kubeconfig) -> Transport:
    """How a workload cluster is reached that is not in memory. Raises KubeconfigError."""
    from kapy.client.https import Https  # aiohttp: a plane without such clusters does not need it

    return Https(kubeconfig)


def paced(qps: float, burst: float, kubeconfig: Kubeconfig) -> Transport:
    """The same, asking each cluster no more often than that. Raises KubeconfigError."""
    from kapy.client.pacing import Paced

    return Paced(over_network(kubeconfig), qps=qps, burst=burst)


def extension_doors(
    runtime: Runtime, told: Controlling, post: Callable[[], Post], *, reconciled: bool = True
) -> Doors | None:
    """How extensions are called; None where the RuntimeSDK gate is closed.

    reconciled: their ExtensionConfigs are looked after in this program, too.
    """
    gates = told.manager.gates
    if not gates.runtime_sdk:
        return None
    from kapy.apps.extensions import extensions  # all hooks: most planes have no extension
    from kapy.core.extensionconfig.controller import add_to

    longest = int(told.extensions.longest.total_seconds())
    called = extensions(runtime, post(), longest=longest)
    if reconciled:
        add_to(runtime, called.caller)
    return Doors(called, called.in_place if gates.in_place_updates else None)


def services_of(doors: Doors | None) -> dict[str, Service]:
    """What is to be run where extensions are called."""
    return {} if doors is None else {"extensions": doors.called.caller.run}


def add_kubeadm_control_planes(
    runtime: Runtime, connections: Connections, told: Controlling, doors: Doors | None, pods: Pods
) -> None:
    """Add the controller of KubeadmControlPlanes. pods: the ways to what runs in them."""
    updates = None if doors is None else doors.updates
    controller = add_control_planes(
        runtime,
        connections,
        etcd_dial=pods.etcd,
        certificate_expiry=pods.certificate_expiry,
        grace=told.conditions_grace,
        updates=updates,
    )
    if updates is not None:
        updates.wake(control_planes=controller.enqueue)


def add_core(
    runtime: Runtime, connections: Connections, told: Controlling, doors: Doors | None
) -> None:
    """Add the controllers of core."""
    gates = told.manager.gates
    updates = None if doors is None else doors.updates
    add_clusters(runtime, connections, grace=told.connection_grace)
    machines = add_machines(
        runtime,
        connections,
        gates=gates,
        synced=Synced(told.machine_labels, told.machine_annotations),
        grace=told.conditions_grace,
        updates=updates,
    )
    checks = told.preflight_checks if gates.machine_set_preflight_checks else ()
    add_machine_sets(runtime, connections, preflight=checks)
    deployments = add_machine_deployments(runtime, connections, updates=updates)
    if gates.machine_pool:
        add_machine_pools(runtime, connections)
    if gates.cluster_topology:
        _add_topologies(runtime, connections, None if doors is None else doors.called)
    add_machine_health_checks(runtime, connections)
    add_cluster_resource_sets(runtime, connections)
    add_resource_set_bindings(runtime, connections)
    if updates is not None:
        updates.wake(machines=machines.enqueue, deployments=deployments.enqueue)


def _add_topologies(runtime: Runtime, connections: Connections, called: Extensions | None) -> None:
    if called is None:
        add_cluster_classes(runtime)
        add_topologies(runtime, connections)
        return
    classes = add_cluster_classes(runtime, discovery=called.variables)
    topologies = add_topologies(
        runtime, connections, hooks=called.lifecycle, patches=called.patches
    )
    called.wake(clusters=topologies.enqueue, classes=classes.enqueue)
