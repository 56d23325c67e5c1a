"""Which controllers a management plane runs."""

from __future__ import annotations

from dataclasses import dataclass

from kapy._aio.services import Service
from kapy.core.cluster.controller import add_to as add_clusters
from kapy.core.clusterresourceset.controller import add_to as add_cluster_resource_sets
from kapy.core.clusterresourcesetbinding.controller import add_to as add_resource_set_bindings
from kapy.core.machine.controller import add_to as add_machines
from kapy.core.machinedeployment.controller import add_to as add_machine_deployments
from kapy.core.machinehealthcheck.controller import add_to as add_machine_health_checks
from kapy.core.machinepool.controller import add_to as add_machine_pools
from kapy.core.machineset.controller import add_to as add_machine_sets
from kapy.engine.runtime import Runtime
from kapy.providers.inmemory import InMemory
from kapy.providers.inmemory import add_to as add_in_memory
from kapy.providers.kubeadm.bootstrap.controller import add_to as add_bootstrap
from kapy.providers.kubeadm.controlplane.controller import add_to as add_control_planes
from kapy.remote.connections import Connections


@dataclass(frozen=True, slots=True)
class Controllers:
    """What was added to a runtime. services: to be run beside it, by name."""

    connections: Connections
    services: dict[str, Service]


def add_controllers(runtime: Runtime, *, sockets: bool) -> Controllers:
    """Add all controllers. sockets: workload clusters listen, for kubectl. Raises NoPort."""
    in_memory = InMemory(clock=runtime.clock)
    connections = Connections(runtime, dial=in_memory.dial)
    in_memory.subscribe(connections.poke)
    core = (
        add_clusters,
        add_machines,
        add_machine_sets,
        add_machine_deployments,
        add_machine_pools,
        add_machine_health_checks,
        add_cluster_resource_sets,
        add_resource_set_bindings,
    )
    for add in core:
        add(runtime, connections)
    add_bootstrap(runtime, connections)
    add_control_planes(
        runtime,
        connections,
        etcd_dial=in_memory.etcd_dial,
        certificate_expiry=in_memory.certificate_expiry,
    )
    add_in_memory(runtime, in_memory)
    services: dict[str, Service] = {"connections": connections.run}
    if sockets:
        in_memory.listen()
        services["workload clusters"] = in_memory.serve
    return Controllers(connections, services)
