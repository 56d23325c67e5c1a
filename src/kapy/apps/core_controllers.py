"""Adds the core controllers to a plane or to its manager."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kapy.apps.extension_clients import ExtensionClients
from kapy.apps.settings import ControllerConfig
from kapy.core.cluster.controller import add_to as add_clusters
from kapy.core.clusterclass.controller import add_to as add_cluster_classes
from kapy.core.clusterresourceset.controller import add_to as add_cluster_resource_sets
from kapy.core.clusterresourcesetbinding.controller import add_to as add_resource_set_bindings
from kapy.core.machine.controller import add_to as add_machines
from kapy.core.machine.node_metadata import SyncedMetadata
from kapy.core.machinedeployment.controller import add_to as add_machine_deployments
from kapy.core.machinehealthcheck.controller import add_to as add_machine_health_checks
from kapy.core.machinepool.controller import add_to as add_machine_pools
from kapy.core.machineset.controller import add_to as add_machine_sets
from kapy.core.topology.controller import add_to as add_topologies
from kapy.engine.runtime import Runtime
from kapy.remote.cluster_cache import ClusterCache

if TYPE_CHECKING:
    from kapy.apps.extensions import Extensions


def add_core(
    runtime: Runtime,
    cluster_cache: ClusterCache,
    config: ControllerConfig,
    clients: ExtensionClients | None,
) -> None:
    """Add the controllers of core."""
    gates = config.manager.gates
    updates = None if clients is None else clients.in_place
    add_clusters(runtime, cluster_cache, grace=config.connection_grace)
    machines = add_machines(
        runtime,
        cluster_cache,
        gates=gates,
        synced=SyncedMetadata(config.machine_labels, config.machine_annotations),
        grace=config.conditions_grace,
        updates=updates,
    )
    checks = config.preflight_checks if gates.machine_set_preflight_checks else ()
    add_machine_sets(runtime, cluster_cache, preflight=checks)
    deployments = add_machine_deployments(runtime, cluster_cache, updates=updates)
    if gates.machine_pool:
        add_machine_pools(runtime, cluster_cache)
    if gates.cluster_topology:
        _add_topologies(runtime, cluster_cache, None if clients is None else clients.extensions)
    add_machine_health_checks(runtime, cluster_cache)
    add_cluster_resource_sets(runtime, cluster_cache)
    add_resource_set_bindings(runtime, cluster_cache)
    if updates is not None:
        updates.wake(machines=machines.enqueue, deployments=deployments.enqueue)


def _add_topologies(
    runtime: Runtime, cluster_cache: ClusterCache, called: Extensions | None
) -> None:
    if called is None:
        add_cluster_classes(runtime)
        add_topologies(runtime, cluster_cache)
        return
    classes = add_cluster_classes(runtime, discovery=called.variables)
    topologies = add_topologies(
        runtime, cluster_cache, hooks=called.lifecycle, patches=called.patches
    )
    called.wake(clusters=topologies.enqueue, classes=classes.enqueue)
