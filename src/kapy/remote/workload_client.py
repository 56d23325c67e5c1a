"""A client of a workload cluster, by the kubeconfig Secret of its Cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from kapy.client.client import Client
from kapy.client.kubeconfig import parse
from kapy.kube import Key
from kapy.kube.names import SECRETS
from kapy.remote.secrets import KUBECONFIG, KUBECONFIG_VALUE, secret_key, secret_value


@asynccontextmanager
async def workload_cluster(
    management: Client, cluster: Key, *, field_manager: str = "kapy"
) -> AsyncIterator[Client]:
    """Connect to the API server of a Cluster, as its administrator, for as long as the block runs.

    management: a client of the management cluster. cluster: namespace and name of the Cluster.
    field_manager: the owner of the fields that the client writes. Raises NotFound while the
    kubeconfig Secret does not exist, KubeconfigError if it cannot be read.
    """
    # aiohttp is imported by programs that connect, not by those that import this module.
    from kapy.client.https import ApiTransport

    key = secret_key(cluster, KUBECONFIG)
    secret = await management.get(SECRETS, key)
    transport = ApiTransport(parse(secret_value(secret, KUBECONFIG_VALUE) or b"", f"Secret {key}"))
    try:
        yield Client(transport, field_manager=field_manager)
    finally:
        await transport.aclose()
