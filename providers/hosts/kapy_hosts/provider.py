"""The definition of the provider: its controllers and the description of its release."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final

from kapy.sdk import (
    PoolMachines,
    Provider,
    Right,
    Runtime,
    Setting,
    add_infra_cluster,
    add_infra_machine,
    add_infra_machine_pool,
)
from kapy_hosts.access import PLANE_NAMESPACE, Access
from kapy_hosts.claims import HostClaims
from kapy_hosts.endpoints import Clusters, Endpoints
from kapy_hosts.hosts import CONCURRENCY, HostController
from kapy_hosts.kinds import ADMISSION, KINDS, HostCluster, HostMachine, HostMachinePool
from kapy_hosts.machines import Machines
from kapy_hosts.pools import Pools
from kapy_hosts.shell import Dialer

FINALIZER: Final = "hosts.cluster.x-k8s.io/release"


def add_to(runtime: Runtime, dialer: Dialer | None = None) -> Mapping[str, Callable[[], Awaitable[None]]]:
    """Add the controllers to a program. dialer: another way to reach hosts, for tests."""
    services: dict[str, Callable[[], Awaitable[None]]] = {}
    if dialer is None:
        from kapy_hosts.ssh import Connections

        connections = Connections()
        services["ssh connections"] = connections.run
        dialer = connections
    access, claims = Access(runtime, dialer), HostClaims(runtime)
    HostController(runtime, access, claims)
    endpoints = Endpoints(runtime, access, claims)
    clusters = Clusters(claims, endpoints)
    controller = add_infra_cluster(runtime, HostCluster, clusters, finalizer=FINALIZER, load_balancer=endpoints)
    clusters.wake(controller, runtime)
    machines = Machines(runtime, access, claims, endpoints)
    controller = add_infra_machine(
        runtime, HostMachine, machines, finalizer=FINALIZER, concurrency=CONCURRENCY, load_balancer=endpoints
    )
    machines.wake(controller)
    pool_machines = PoolMachines(runtime, HostMachine.RESOURCE, HostMachinePool.RESOURCE)
    controller = add_infra_machine_pool(runtime, HostMachinePool, Pools(pool_machines), finalizer=FINALIZER)
    pool_machines.wake(controller)
    return services


PROVIDER = Provider(
    name="hosts",
    kinds=KINDS,
    admission=ADMISSION,
    add_to=add_to,
    image="registry.example.com/kapy/hosts",
    settings=[Setting("HOSTS_SSH_AUTH_SOCK", "The socket of an SSH agent.", "/run/ssh-agent.sock")],
    rights=[Right("", ("secrets",), ("get",)), Right("", ("namespaces",), ("get",), names=(PLANE_NAMESPACE,))],
    files=Path(__file__).parent / "templates",
)
