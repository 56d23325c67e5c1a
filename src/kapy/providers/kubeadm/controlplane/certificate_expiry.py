"""Records the expiry of each Machine's API server certificate on its KubeadmConfig."""

from __future__ import annotations

from kapy.api.kubeadm_config import KubeadmConfig
from kapy.api.names import Annotation, ConditionType
from kapy.api.times import stamp
from kapy.providers.kubeadm.controlplane.dependencies import Dependencies
from kapy.providers.kubeadm.controlplane.kubeconfig import cluster_access
from kapy.providers.kubeadm.controlplane.scope import ControlPlane, has_node, is_true, node_name
from kapy.sdk import Result


async def record_expiries(dependencies: Dependencies, plane: ControlPlane) -> Result | None:
    """Record the expiry of each API server's certificate once, when the API server is healthy.

    It is not recorded without a means to query it. While a Machine joins, its API server's Pod does
    not exist yet; the Pod is watched, so its change enqueues the control plane.
    """
    ask = dependencies.certificate_expiry
    if ask is None or not plane.is_initialized:
        return None
    for machine in plane.machines:
        config = plane.configs.get(machine.metadata.name)
        if machine.deleting or config is None or not has_node(machine):
            continue
        if not is_true(machine, ConditionType.API_SERVER_POD_HEALTHY):
            continue
        if Annotation.CERTIFICATES_EXPIRY in config.metadata.annotations:
            continue
        access = await cluster_access(dependencies, plane.cluster.key)
        expiry = stamp(await ask(access, node_name(machine)))
        patch = {"metadata": {"annotations": {Annotation.CERTIFICATES_EXPIRY: expiry}}}
        await dependencies.runtime.client.patch(KubeadmConfig.RESOURCE, config.key, patch)
    return None
