"""Wait until a workload cluster has detached the volumes of a drained Node."""

from __future__ import annotations

from kapy.api.names import Reason
from kapy.core.machine.drain import is_unreachable
from kapy.core.machine.evictions import planned_drain
from kapy.core.machine.node import watched_nodes
from kapy.core.machine.scope import MachineScope
from kapy.core.machine.temporary_watches import Snapshot
from kapy.core.machine.volumes import (
    PERSISTENT_VOLUMES,
    VOLUME_ATTACHMENTS,
    claims_of,
    names_on_node,
    still_attached,
    volumes_attached_to,
)
from kapy.engine.result import DONE, Result
from kapy.kube import Key
from kapy.kube.errors import NotFound


async def await_detachment(scope: MachineScope, node_name: str, started: str) -> Result | None:
    """Return None once no volume that must be waited for is attached.

    It watches the VolumeAttachments; the Node is watched anyway. Raises NotConnected, NoVolumeName,
    InvalidRule, and the workload cluster's errors.
    """
    node = watched_nodes(scope).raw(Key("", node_name))
    if node is None or is_unreachable(node):  # nothing could detach the volumes
        return None
    attachments = await _attachments(scope)
    on_node = names_on_node(node)
    attached = volumes_attached_to(node_name, attachments.items if attachments else ())
    if not on_node and not attached:
        return None
    planned = await planned_drain(scope, node_name, unreachable=False, hold=False)
    client = scope.dependencies.remote.client(scope.cluster_key)
    volumes = await client.list(PERSISTENT_VOLUMES)
    pending = still_attached(on_node, attached, volumes.items, claims_of(planned.skipped))
    if not pending:
        return None
    if attachments:
        attachments.watch()
    scope.set_deleting_condition(Reason.WAITING_FOR_VOLUME_DETACH, pending.message(started))
    return DONE


async def _attachments(scope: MachineScope) -> Snapshot | None:
    """Return the VolumeAttachments; None if they are not needed, or if the server has no storage
    API.
    """
    if not scope.dependencies.gates.machine_wait_for_volume_detach_consider_volume_attachments:
        return None
    try:
        return await scope.snapshot(VOLUME_ATTACHMENTS)
    except NotFound:
        return None
