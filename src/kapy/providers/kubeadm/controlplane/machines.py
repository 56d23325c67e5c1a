"""Propagates fields that can change in place to existing Machines."""

from __future__ import annotations

from typing import Final

from kapy.api.kubeadm_config import KubeadmConfig
from kapy.api.machine import Machine
from kapy.kube import Document
from kapy.providers.kubeadm.controlplane.dependencies import Dependencies
from kapy.providers.kubeadm.controlplane.desired import desired_machines, updated_machine
from kapy.providers.kubeadm.controlplane.scope import ControlPlane
from kapy.sdk import (
    Result,
)
from kapy.sdk.controllers import Draft

NODE_DELETION_TIMEOUT: Final = 10
"""Seconds; the default that admission gives a Machine."""


async def update_machines(dependencies: Dependencies, plane: ControlPlane) -> Result | None:
    """Propagate labels, annotations, timeouts, taints and readiness gates without a rollout."""
    cluster = plane.cluster.metadata.name
    desired = desired_machines(plane.kcp, cluster)
    for index, draft in enumerate(plane.drafts):
        machine = draft.object
        if machine.deleting:
            _update_deletion(plane, machine)
            continue
        wanted = updated_machine(plane.kcp, cluster, machine)
        owned = _owned_objects(dependencies, plane, machine.metadata.name)
        answer = await dependencies.factory.update(desired, draft.before, wanted, owned)
        if answer is not draft.before:
            plane.drafts[index] = Draft(dependencies.runtime.client, Machine, answer)
    return None


def _update_deletion(plane: ControlPlane, machine: Machine) -> None:
    """A Machine that is being deleted only gets the fields that affect its deletion."""
    template = plane.kcp.spec.machine_template.spec
    timeout = template.deletion.node_deletion_timeout_seconds
    deletion = machine.spec.deletion
    deletion.node_drain_timeout_seconds = template.deletion.node_drain_timeout_seconds
    deletion.node_deletion_timeout_seconds = NODE_DELETION_TIMEOUT if timeout is None else timeout
    deletion.node_volume_detach_timeout_seconds = (
        template.deletion.node_volume_detach_timeout_seconds
    )
    machine.spec.taints = template.taints


def _owned_objects(dependencies: Dependencies, plane: ControlPlane, name: str) -> list[Document]:
    """Return the infrastructure and the KubeadmConfig of a Machine, as far as they exist."""
    config = plane.configs.get(name)
    configs = dependencies.runtime.cache.informer(KubeadmConfig.RESOURCE)
    results = plane.infrastructure.get(name), None if config is None else configs.raw(config.key)
    return [item for item in results if item is not None]
