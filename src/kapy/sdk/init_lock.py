"""The lock by which exactly one machine of a cluster initializes the control plane.

It is the ConfigMap `<cluster>-lock`, which names the Machine that holds it. Creating it acquires
the lock. It has upstream's format, so that kapy and upstream exclude each other.
"""

from __future__ import annotations

import json
from typing import Any, Final

from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.api.names import Label
from kapy.client.client import Client
from kapy.engine.cache import Informer
from kapy.engine.result import NotYet
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.errors import AlreadyExists, NotFound
from kapy.kube.foreign_json import decode_json
from kapy.kube.meta import owner_reference
from kapy.kube.model import encode
from kapy.kube.names import CONFIG_MAPS
from kapy.kube.renamed import RenamedMember

_INFORMATION: Final = "lock-information"


class InitLock:
    """The locks that let one machine of each cluster run kubeadm init."""

    take = RenamedMember("acquire")

    def __init__(
        self, client: Client, locks: Informer[Document], machines: Informer[Machine]
    ) -> None:
        self._client = client
        self._locks = locks
        self._machines = machines
        self._releasing: set[Key] = set()

    @classmethod
    def of(cls, runtime: Runtime) -> InitLock:
        """Return the locks, read through the runtime's cache."""
        locks = runtime.cache.informer(CONFIG_MAPS, labels=Label.CLUSTER_NAME)
        return cls(runtime.client, locks, runtime.cache.informer(Machine))

    async def acquire(self, cluster: Cluster, machine: str) -> bool:
        """Return whether the Machine of that name holds the lock now. A lock of a deleted Machine
        is released. Raises NotYet if a lock exists that the cache does not contain yet: it may be
        this Machine's own, if the response to its creation was lost.
        """
        lock = self._locks.raw(_key(cluster))
        if lock is not None:
            holder = _holder(lock)
            if holder == machine:
                return True
            if self._machines.raw(Key(cluster.metadata.namespace, holder)) is None:
                await self.release(cluster)
            else:
                return False
        try:
            await self._client.create(CONFIG_MAPS, _lock(cluster, machine))
        except AlreadyExists:
            raise NotYet(f"somebody took {_key(cluster)}, and who it was is not seen yet") from None
        return True

    async def release(self, cluster: Cluster) -> None:
        """Release the lock, regardless of its holder."""
        key = _key(cluster)
        if key in self._releasing or self._locks.raw(key) is None:
            return
        self._releasing.add(key)
        try:
            await self._client.delete(CONFIG_MAPS, key)
        except NotFound:
            return
        finally:
            self._releasing.discard(key)


def _key(cluster: Cluster) -> Key:
    return Key(cluster.metadata.namespace, f"{cluster.metadata.name}-lock")


def _lock(cluster: Cluster, machine: str) -> Document:
    key = _key(cluster)
    information = json.dumps({"machineName": machine}, separators=(",", ":"))
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": key.name,
            "namespace": key.namespace,
            "labels": {Label.CLUSTER_NAME: cluster.metadata.name},
            "ownerReferences": [encode(owner_reference(cluster))],
        },
        "data": {_INFORMATION: information},
    }


def _holder(lock: Document) -> str:
    """Return the name of the Machine that holds the lock, "" if it is unknown."""
    try:
        information: Any = decode_json((lock.get("data") or {}).get(_INFORMATION, ""))
    except (ValueError, TypeError):
        return ""
    return str(information.get("machineName", "")) if isinstance(information, dict) else ""
