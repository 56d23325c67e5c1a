"""Propagates fields that can change in place to existing Machines."""

from __future__ import annotations

from typing import Final

from kapy.api.kubeadm_config import KubeadmConfig
from kapy.api.machine import Machine
from kapy.kube import Document
from kapy.kube.names import Resource
from kapy.providers.kubeadm.controlplane.desired import (
    belonging_metadata,
    kept_machine,
)
from kapy.providers.kubeadm.controlplane.scope import ControlPlane
from kapy.providers.kubeadm.controlplane.tools import Tools
from kapy.sdk import Draft, Result

NODE_DELETION_TIMEOUT: Final = 10
"""Seconds; the default that admission gives a Machine."""


async def sync_machines(tools: Tools, plane: ControlPlane) -> Result | None:
    """Propagate labels, annotations, timeouts, taints and readiness gates without a rollout."""
    for index, draft in enumerate(plane.drafts):
        machine = draft.object
        if machine.deleting:
            _sync_deletion(plane, machine)
            continue
        wanted = kept_machine(plane.kcp, plane.cluster.metadata.name, machine)
        answer = await tools.applied.apply(Machine.RESOURCE, wanted, draft.before)
        if answer is not draft.before:
            plane.drafts[index] = Draft(tools.runtime.client, Machine, answer)
        await _sync_belongings(tools, plane, machine.metadata.name)
    return None


def _sync_deletion(plane: ControlPlane, machine: Machine) -> None:
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


async def _sync_belongings(tools: Tools, plane: ControlPlane, name: str) -> None:
    infrastructure = plane.infrastructure.get(name)
    if infrastructure is not None:
        resource = await tools.external.resource_of(infrastructure)
        await _sync_metadata(tools, plane, resource, infrastructure)
    config = (
        tools.runtime.cache.informer(KubeadmConfig.RESOURCE).raw(plane.configs[name].key)
        if name in plane.configs
        else None
    )
    if config is not None:
        await _sync_metadata(tools, plane, KubeadmConfig.RESOURCE, config)


async def _sync_metadata(
    tools: Tools, plane: ControlPlane, resource: Resource, current: Document
) -> None:
    metadata = current["metadata"]
    wanted = belonging_metadata(
        plane.kcp, plane.cluster.metadata.name, resource, metadata["name"], metadata["uid"]
    )
    await tools.applied.apply(resource, wanted, current, tools.applied.metadata_manager)
