"""Waiting for a workload cluster to detach the volumes of a drained Node."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from kapy.api.names import Reason
from kapy.client.client import Client
from kapy.core.machine.drain import is_unreachable
from kapy.core.machine.evictions import planned_drain
from kapy.core.machine.scope import MachineScope
from kapy.core.machine.volumes import (
    PERSISTENT_VOLUMES,
    VOLUME_ATTACHMENTS,
    claims_of,
    names_on_node,
    still_attached,
    volumes_attached_to,
)
from kapy.engine.result import Result, requeue
from kapy.kube import Key
from kapy.kube.errors import NotFound
from kapy.kube.names import NODES

RETRY: Final = timedelta(seconds=20)


async def await_detachment(scope: MachineScope, node_name: str, started: str) -> Result | None:
    """None when nothing is attached any more that must be waited for."""
    client = scope.tools.remote.client(scope.cluster_key)
    try:
        node = await client.get(NODES, Key("", node_name))
    except NotFound:
        return None
    if is_unreachable(node):  # nobody is left who could detach anything
        return None
    on_node, attached = names_on_node(node), await _attached(client, node_name)
    if not on_node and not attached:
        return None
    planned = await planned_drain(scope, client, node_name, unreachable=False)
    volumes = await client.list(PERSISTENT_VOLUMES)
    left = still_attached(on_node, attached, volumes.items, claims_of(planned.skipped))
    if not left:
        return None
    scope.waits(Reason.WAITING_FOR_VOLUME_DETACH, left.message(started))
    # A timer, because the volumes of a whole cluster are not kept in memory for one Node.
    return requeue(after=RETRY, because="volumes are still attached to the Node")


async def _attached(client: Client, node_name: str) -> set[str]:
    try:
        attachments = await client.list(VOLUME_ATTACHMENTS)
    except NotFound:  # a server without storage attaches nothing
        return set()
    return volumes_attached_to(node_name, attachments.items)
