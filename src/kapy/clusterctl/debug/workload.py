"""Objects of the workload cluster: its version, Nodes, Pods and events."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Final

from kapy.client.client import Client
from kapy.clusterctl.debug.archive import Archive
from kapy.clusterctl.debug.objects import EVENTS, event_line, list_objects
from kapy.clusterctl.kubeconfig import admin_kubeconfig
from kapy.clusterctl.server_from_here import Consoles, usable_kubeconfig
from kapy.kube import Key
from kapy.kube.errors import KapyError
from kapy.kube.names import NODES, PODS

MAX_OBJECTS: Final = 500
"""The maximum number of objects of a kind."""

Dial = Callable[[str], AbstractAsyncContextManager[Client]]
"""Connects to the cluster of a kubeconfig's text. Raises KapyError."""


async def collect_workload(
    client: Client, cluster: Key, dial: Dial, consoles: Consoles, archive: Archive
) -> None:
    """Add the readable objects of the workload cluster."""
    try:
        stored = await admin_kubeconfig(client, cluster)
        text = await usable_kubeconfig(client, cluster, stored, consoles)
        async with dial(text) as workload:
            version = await workload.raw("GET", "/version")
            await archive.document("versions/workload-cluster.yaml", version)
            for resource in (NODES, PODS):
                objects = await list_objects(workload, resource, "", archive)
                for item in objects[:MAX_OBJECTS]:
                    key = Key.of(item)
                    name = f"{key.namespace}.{key.name}" if key.namespace else key.name
                    await archive.document(f"workload/{resource.plural}/{name}.yaml", item)
                if len(objects) > MAX_OBJECTS:
                    archive.missing.append(
                        f"workload cluster: {len(objects) - MAX_OBJECTS} of {len(objects)} "
                        f"{resource.plural}"
                    )
            events = [event_line(obj) for obj in await list_objects(workload, EVENTS, "", archive)]
            await archive.text("workload/events.txt", "".join(sorted(events)))
    except KapyError as error:
        archive.missing.append(f"workload cluster: {error}")
