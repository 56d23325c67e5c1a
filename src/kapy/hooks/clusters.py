"""The clusters that a handler may have to look at, or to change something in.

    async with management_cluster() as management:
        async with workload_cluster(management, Key.of(request.cluster)) as workload:
            nodes = await workload.list(NODES)

Both are reached anew each time: handlers that are asked often keep a client of their own.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from kapy.client.client import Client
from kapy.client.in_cluster import in_cluster, is_in_cluster
from kapy.client.kubeconfig import parse
from kapy.client.kubeconfig_files import load, paths
from kapy.kube import Key
from kapy.kube.names import SECRETS
from kapy.remote.secrets import KUBECONFIG, KUBECONFIG_VALUE, secret_key, secret_value


@asynccontextmanager
async def management_cluster(
    kubeconfig: str = "", environ: Mapping[str, str] | None = None
) -> AsyncIterator[Client]:
    """The cluster that this extension serves: as a Pod reaches its own, else by a kubeconfig
    ($KUBECONFIG or ~/.kube/config where none is named). Raises KubeconfigError."""
    from kapy.client.https import Https  # aiohttp: only who reaches clusters needs it

    around = os.environ if environ is None else environ
    if kubeconfig or not is_in_cluster(around):
        access = load([Path(kubeconfig)] if kubeconfig else paths(around, Path.home()))
    else:
        access = in_cluster(around)
    transport = Https(access)
    try:
        yield Client(transport, field_manager="kapy-extension")
    finally:
        await transport.aclose()


@asynccontextmanager
async def workload_cluster(management: Client, cluster: Key) -> AsyncIterator[Client]:
    """A Cluster's own API server, as its administrator. Raises ApiError where its kubeconfig is
    not there (yet), KubeconfigError."""
    from kapy.client.https import Https

    key = secret_key(cluster, KUBECONFIG)
    secret = await management.get(SECRETS, key)
    transport = Https(parse(secret_value(secret, KUBECONFIG_VALUE) or b"", f"Secret {key}"))
    try:
        yield Client(transport, field_manager="kapy-extension")
    finally:
        await transport.aclose()
