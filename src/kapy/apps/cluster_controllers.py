"""Adds the controllers that work on clusters, each on those of its process.

A plane's process has those of providers of machines besides, for all clusters.
"""

from __future__ import annotations

from kapy.apps.control_plane_pods import ControlPlaneAccess
from kapy.apps.control_planes import add_kubeadm_control_planes
from kapy.apps.core_controllers import add_core
from kapy.apps.extension_clients import ExtensionClients
from kapy.apps.settings import ControllerConfig
from kapy.engine.runtime import Runtime
from kapy.providers.kubeadm.bootstrap.controller import add_to as add_bootstrap
from kapy.remote.cluster_cache import ClusterCache


def add_cluster_controllers(
    runtime: Runtime,
    cluster_cache: ClusterCache,
    config: ControllerConfig,
    clients: ExtensionClients | None,
    pods: ControlPlaneAccess,
) -> None:
    """Add the controllers of core and of the kubeadm providers that are not disabled."""
    if "core" not in config.disabled_managers:
        add_core(runtime, cluster_cache, config, clients)
    if "bootstrap-kubeadm" not in config.disabled_managers:
        add_bootstrap(runtime, cluster_cache, token_life=config.token_life)
    if "control-plane-kubeadm" not in config.disabled_managers:
        add_kubeadm_control_planes(runtime, cluster_cache, config, clients, pods)
