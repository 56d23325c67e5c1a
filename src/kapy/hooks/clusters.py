"""Access to clusters for handlers of extensions.

    async with management_cluster() as management:
        async with workload_cluster(management, Key.of(request.cluster)) as workload:
            nodes = await workload.list(NODES)

Each call opens a new connection. A handler that is called often should keep its own client.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager

from kapy.client.client import Client
from kapy.client.session import connect
from kapy.kube import Key
from kapy.remote import workload_client

FIELD_MANAGER = "kapy-extension"


def management_cluster(
    kubeconfig: str = "", environ: Mapping[str, str] | None = None
) -> AbstractAsyncContextManager[Client]:
    """Connect to the management cluster, as `kapy.client.connect` does. Raises KubeconfigError."""
    return connect(kubeconfig, field_manager=FIELD_MANAGER, environ=environ)


def workload_cluster(management: Client, cluster: Key) -> AbstractAsyncContextManager[Client]:
    """Connect to a Cluster's own API server, as its administrator.

    Raises NotFound while its kubeconfig Secret does not exist, KubeconfigError if it is unreadable.
    """
    return workload_client.workload_cluster(management, cluster, field_manager=FIELD_MANAGER)
