"""The kubeconfig of a workload cluster, as this computer can use it.

Machines may be in a network that this computer has no route to: those of a rootless container
engine are. Their provider's console knows another way to the API server. If the console does not
answer, the kubeconfig stays as it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import urlsplit

from kapy.client.client import Client
from kapy.client.kubeconfig import document_of, parse
from kapy.clusterctl.kubeconfig import may_be_hidden
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError
from kapy.kube.yaml import dump
from kapy.sdk.console import MachineConsole, MachineTarget

WITHIN: Final = 5.0
"""Seconds that a console may take."""

Consoles = Callable[[Document], MachineConsole]
"""The console of a machine by its infrastructure object. Raises KapyError."""


async def usable_kubeconfig(client: Client, cluster: Key, text: str, consoles: Consoles) -> str:
    """Return the kubeconfig with a server that is reached from here."""
    if not may_be_hidden(text):
        return text
    target = await any_machine(client, cluster)
    return text if target is None else await with_server_from_here(text, target, consoles)


async def any_machine(client: Client, cluster: Key) -> MachineTarget | None:
    """Return a machine of a cluster; None where none can be read."""
    from kapy.api.machine import Machine
    from kapy.api.names import Label
    from kapy.clusterctl.machine_targets import target_of

    try:
        selector = f"{Label.CLUSTER_NAME}={cluster.name}"
        resource = await client.list(Machine.RESOURCE, cluster.namespace, labels=selector)
        for machine in resource.items:
            return await target_of(client, machine)
    except KapyError:
        pass
    return None


async def with_server_from_here(text: str, target: MachineTarget, consoles: Consoles) -> str:
    """Return the kubeconfig with the URL that the console of a machine knows."""
    server = parse(text).server
    try:
        async with asyncio.timeout(WITHIN), consoles(target.infra) as console:
            url = await console.server_from_here(target, server)
    except (KapyError, TimeoutError):
        return text
    return with_server(text, server, url) if url else text


def with_server(text: str, server: str, url: str) -> str:
    """Return the kubeconfig with another URL of a server, whose certificate is still checked for
    the name that it has.
    """
    document: Any = document_of(text)
    for entry in document.get("clusters") or ():
        cluster = entry.get("cluster") or {}
        if str(cluster.get("server", "")).rstrip("/") == server:
            cluster["server"] = url
            cluster.setdefault("tls-server-name", urlsplit(server).hostname or "")
    return dump(document)
