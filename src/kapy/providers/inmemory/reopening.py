"""Restores bootstrap tokens of machine pools in a workload cluster that is recreated after a
restart.

A real cluster survives the restart of a manager, and so does the bootstrap token in a pool's boot
data. Without it, the bootstrap provider would generate new boot data at each start.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable
from datetime import timedelta
from typing import Final

from kapy.api.machine_pool import MachinePool
from kapy.kube import Document, Key
from kapy.providers.inmemory.fleet import InMemoryClusters
from kapy.providers.inmemory.workload.kubeadm import ensure_token
from kapy.sdk import Runtime
from kapy.sdk.controllers import Informer

LIFE: Final = timedelta(hours=24)
"""As kubeadm has it: for how long a token was made is not known any more."""

_TOKEN: Final = re.compile(rb"\btoken: ([a-z0-9]{6})\.([a-z0-9]{16})\b")
_BY_CLUSTER: Final = "inmemory/pool-cluster"


class PoolTokens:
    """Finds the bootstrap tokens of MachinePools. secrets: the cached Secrets of Clusters, with the
    boot data.
    """

    def __init__(
        self, runtime: Runtime, in_memory: InMemoryClusters, secrets: Informer[Document]
    ) -> None:
        self._in_memory = in_memory
        self._secrets = secrets
        self._pools = runtime.cache.informer(MachinePool.RESOURCE)
        self._pools.add_index(_BY_CLUSTER, _cluster_of)

    def restore(self, cluster: Key) -> None:
        """Restore the tokens of the pools of a cluster that was just recreated."""
        workload = self._in_memory.get(cluster)
        if workload is None:
            return
        for pool in self._pools.list_by_index(_BY_CLUSTER, str(cluster)):
            template = pool["spec"]["template"]["spec"]
            name = template.get("bootstrap", {}).get("dataSecretName")
            secret = self._secrets.raw(Key(cluster.namespace, name)) if name else None
            if secret is not None and (match := _TOKEN.search(_boot_data(secret))):
                token_id, token_secret = (group.decode() for group in match.groups())
                end = self._in_memory.clock() + LIFE
                ensure_token(workload.objects, token_id, token_secret, end)


def _cluster_of(pool: Document) -> Iterable[str]:
    name = (pool.get("spec") or {}).get("clusterName")
    return (str(Key(pool["metadata"]["namespace"], name)),) if name else ()


def _boot_data(secret: Document) -> bytes:
    try:
        return base64.b64decode((secret.get("data") or {}).get("value", ""), validate=True)
    except (binascii.Error, ValueError):
        return b""
