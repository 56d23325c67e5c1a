"""The controllers of each manager, and the name of its leader election Lease (upstream's).

So a manager of kapy and upstream's manager of the same name never work at the same time. Each
imports its controllers when it runs, because imports take half of a manager's start.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kapy._aio.services import Service
from kapy.apps.components.serving import secret_of, service_of
from kapy.apps.extension_clients import extension_clients, services_of
from kapy.apps.manager_flags import Manager
from kapy.apps.migrated_kinds import add_migration
from kapy.apps.settings import ControllerConfig
from kapy.apps.transports import over_network
from kapy.engine.runtime import Runtime
from kapy.hooks.transport import HookTransport
from kapy.remote.cluster_cache import ClusterCache, Dial

if TYPE_CHECKING:
    from kapy.apps.control_plane_pods import ControlPlaneAccess
    from kapy.providers.docker import Host
    from kapy.providers.inmemory import InMemoryClusters


def _pod_access(runtime: Runtime) -> ControlPlaneAccess:
    from kapy.providers.kubeadm.controlplane.pods_over_network import PodsOverNetwork

    return PodsOverNetwork(runtime)


@dataclass(frozen=True, slots=True)
class Connections:
    """The connections of a manager besides its API server, created on demand.

    extension_transport: creates the transport to runtime extensions. connect: connects to workload
    clusters. pods: creates the access to the etcd and API server Pods of control planes. in_memory:
    the in-memory clusters, None to create them in this process, behind sockets. containers: the
    host of containers, None for the container engine that the environment names.
    """

    extension_transport: Callable[[], HookTransport]
    connect: Dial = over_network
    pods: Callable[[Runtime], ControlPlaneAccess] = _pod_access
    in_memory: InMemoryClusters | None = None
    containers: Host | None = None


Add = Callable[[Runtime, ControllerConfig, Connections], Mapping[str, Service]]
"""Adds controllers to a runtime; returns services to run beside it, by name."""


@dataclass(frozen=True, slots=True)
class Program:
    """The description of one manager program. name: its field manager. manager: the manager whose
    flags it has. provider: the name of its provider in clusterctl. prefix: the name prefix of its
    objects. lease: the name of its Lease. add: adds its controllers.
    """

    name: str
    manager: Manager
    provider: str
    prefix: str
    lease: str
    add: Add

    @property
    def namespace(self) -> str:
        """The namespace of the manager in its release."""
        return f"{self.prefix}-system"

    @property
    def account(self) -> str:
        """The service account of the manager."""
        return f"{self.prefix}-manager"

    @property
    def service(self) -> str:
        """The Service that API servers call."""
        return service_of(self.prefix)

    @property
    def secret(self) -> str:
        """The Secret with the certificate of its webhooks."""
        return secret_of(self.prefix)


def _add_core(
    runtime: Runtime, config: ControllerConfig, connections: Connections
) -> Mapping[str, Service]:
    from kapy.apps.cluster_metrics import ClusterMetrics
    from kapy.apps.core_controllers import add_core

    cluster_cache = ClusterCache(runtime, dial=connections.connect)
    clients = extension_clients(runtime, config, connections.extension_transport)
    add_core(runtime, cluster_cache, config, clients)
    runtime.metrics.add(ClusterMetrics(runtime))
    add_migration(runtime, config, ["core"])
    return {"connections": cluster_cache.run, **services_of(clients)}


def _add_bootstrap(
    runtime: Runtime, config: ControllerConfig, connections: Connections
) -> Mapping[str, Service]:
    from kapy.providers.kubeadm.bootstrap.controller import add_to as add_bootstrap

    cluster_cache = ClusterCache(
        runtime, dial=connections.connect, probing=False
    )  # used for tokens only
    add_bootstrap(runtime, cluster_cache, token_life=config.token_life)
    add_migration(runtime, config, ["bootstrap-kubeadm"])
    return {"connections": cluster_cache.run}


def _add_control_plane(
    runtime: Runtime, config: ControllerConfig, connections: Connections
) -> Mapping[str, Service]:
    from kapy.apps.control_planes import add_kubeadm_control_planes

    cluster_cache = ClusterCache(runtime, dial=connections.connect)
    clients = extension_clients(runtime, config, connections.extension_transport, reconciled=False)
    add_kubeadm_control_planes(runtime, cluster_cache, config, clients, connections.pods(runtime))
    add_migration(runtime, config, ["control-plane-kubeadm"])
    return {"connections": cluster_cache.run, **services_of(clients)}


def _add_infrastructure(
    runtime: Runtime, config: ControllerConfig, connections: Connections
) -> Mapping[str, Service]:
    from kapy.providers.docker import Host
    from kapy.providers.docker import add_to as add_docker
    from kapy.providers.inmemory import InMemoryClusters
    from kapy.providers.inmemory import add_to as add_in_memory
    from kapy.sdk.workload_clusters import WorkloadClusters

    cluster_cache = ClusterCache(
        runtime, dial=connections.connect, probing=False
    )  # used for Nodes only
    workload = WorkloadClusters(runtime, cluster_cache)
    services = {
        "connections": cluster_cache.run,
        **add_docker(runtime, workload, connections.containers or Host()),
    }
    add_migration(runtime, config, ["infrastructure-dev"])
    if connections.in_memory is not None:
        add_in_memory(runtime, connections.in_memory)
        return services
    in_memory = InMemoryClusters(clock=runtime.clock, host=os.environ.get("POD_IP", ""))
    add_in_memory(runtime, in_memory)
    in_memory.listen()
    return {**services, "workload clusters": in_memory.serve}


PROGRAMS: Final[Mapping[str, Program]] = {
    "core": Program(
        "capi-controller-manager",
        "core",
        "cluster-api",
        "capi",
        "controller-leader-election-capi",
        _add_core,
    ),
    "bootstrap-kubeadm": Program(
        "capi-kubeadm-bootstrap-controller-manager",
        "kubeadm-bootstrap",
        "bootstrap-kubeadm",
        "capi-kubeadm-bootstrap",
        "kubeadm-bootstrap-manager-leader-election-capi",
        _add_bootstrap,
    ),
    "control-plane-kubeadm": Program(
        "capi-kubeadm-control-plane-controller-manager",
        "kubeadm-control-plane",
        "control-plane-kubeadm",
        "capi-kubeadm-control-plane",
        "kubeadm-control-plane-manager-leader-election-capi",
        _add_control_plane,
    ),
    "infrastructure-dev": Program(
        "capd-controller-manager",
        "docker",
        "infrastructure-docker",
        "capd",
        "controller-leader-election-capd",
        _add_infrastructure,
    ),
}
"""By the name after `kapy manager`."""
