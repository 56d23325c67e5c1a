"""The controllers of a management plane."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kapy._aio.services import Service
from kapy.apps.cluster_controllers import add_cluster_controllers
from kapy.apps.cluster_metrics import ClusterMetrics
from kapy.apps.control_plane_pods import PodAccess
from kapy.apps.extension_clients import extension_clients, services_of
from kapy.apps.migrated_kinds import add_migration
from kapy.apps.settings import ControllerConfig, ManagerName
from kapy.apps.transports import over_network, with_url_override
from kapy.containers import Engine, EngineUnreachable
from kapy.engine.runtime import Runtime
from kapy.engine.shards import Shards
from kapy.providers.docker import Host
from kapy.providers.docker import add_to as add_docker
from kapy.providers.docker.published import PublishedAddresses
from kapy.providers.inmemory import InMemoryClusters
from kapy.providers.inmemory import add_to as add_in_memory
from kapy.remote.cluster_cache import ClusterCache
from kapy.sdk.workload_clusters import WorkloadClusters

if TYPE_CHECKING:
    from kapy.hooks.call_stream import ObservableTransport
    from kapy.hooks.transport import HookTransport
    from kapy.sdk.provider import Provider

_MANAGERS: Final[frozenset[ManagerName]] = frozenset(
    ("core", "bootstrap-kubeadm", "control-plane-kubeadm", "infrastructure-dev")
)
_WORKLOAD_CLIENTS: Final = _MANAGERS
"""The managers that have clients of workload clusters."""


def _no_engine() -> Engine:
    raise EngineUnreachable("a management plane without a network reaches no container engine")


@dataclass(frozen=True, slots=True)
class Controllers:
    """The result of adding controllers to a runtime.

    services: services to run beside it, by name. calls: the caller of runtime extensions, if they
    are called. in_memory: the clusters that exist only in this process.
    """

    cluster_cache: ClusterCache
    services: dict[str, Service]
    in_memory: InMemoryClusters
    published: PublishedAddresses
    calls: ObservableTransport | None = None


def add_controllers(
    runtime: Runtime,
    config: ControllerConfig,
    *,
    sockets: bool,
    post: Callable[[], HookTransport],
    providers: Sequence[Provider] = (),
    shards: Shards | None = None,
) -> Controllers:
    """Add all controllers to a runtime. Raises NoPort.

    sockets: whether in-memory workload clusters listen on sockets, for kubectl, and clusters of
    other providers are reached over the network. post: creates the transport to runtime extensions,
    on demand. providers: custom providers, whose kinds are migrated like kapy's. shards: the share
    of the clusters that the core and kubeadm controllers of this process reconcile, None for all.
    The infrastructure controllers of this process reconcile the machines of all clusters, because
    these machines are in its memory or in containers that it manages.
    """
    host = Host() if sockets else Host(_no_engine)
    instead_of = host.published.instead_of
    in_memory = InMemoryClusters(
        clock=runtime.clock,
        elsewhere=(lambda kubeconfig: over_network(with_url_override(instead_of, kubeconfig)))
        if sockets
        else None,
        host=config.workload_host,
    )
    with runtime.divided(shards):
        cluster_cache = ClusterCache(runtime, dial=in_memory.dial)
        in_memory.subscribe(cluster_cache.trigger_probe)
        clients = extension_clients(
            runtime, config, post, reconciled="core" not in config.disabled_managers
        )
        pods = PodAccess(runtime, in_memory, instead_of, sockets=sockets)
        add_cluster_controllers(runtime, cluster_cache, config, clients, pods)
    if "core" not in config.disabled_managers:
        runtime.metrics.add(ClusterMetrics(runtime))
    add_migration(runtime, config, _MANAGERS - config.disabled_managers, providers)
    services: dict[str, Service] = services_of(clients)
    if not config.disabled_managers.issuperset(_WORKLOAD_CLIENTS):
        services["connections"] = cluster_cache.run
    if "infrastructure-dev" not in config.disabled_managers:
        add_in_memory(runtime, in_memory)
        services.update(add_docker(runtime, WorkloadClusters(runtime, cluster_cache), host))
    if sockets and "infrastructure-dev" not in config.disabled_managers:
        in_memory.listen()
        services["workload clusters"] = in_memory.serve
    calls = None if clients is None else clients.extensions.calls
    return Controllers(cluster_cache, services, in_memory, host.published, calls)
