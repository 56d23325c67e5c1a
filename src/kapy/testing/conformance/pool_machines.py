"""Create the Machines for single machines of pools, as core does, and delete them with the pool."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from kapy.api.machine import Machine
from kapy.api.machine_pool import MachinePool
from kapy.api.names import Label
from kapy.client.client import Client
from kapy.kube import Document, Key
from kapy.kube.errors import AlreadyExists, Conflict, NotFound
from kapy.kube.names import Resource
from kapy.testing.conformance.watch_log import WatchLog
from kapy.testing.fake_core import owned_by, reference

FINALIZER: Final = "conformance.cluster.x-k8s.io/pool-machine"


class PoolMachines:
    """Creates and deletes the Machines of all pools. resources: the kinds of the Machines'
    infrastructure objects.
    """

    def __init__(self, client: Client, watch_log: WatchLog, resources: list[Resource]) -> None:
        self._client = client
        self._seen = watch_log
        self._resources = resources

    async def run(self) -> None:
        """Create missing Machines, and release deleted ones, until cancelled."""
        news = self._seen.change_event()
        while True:
            await news.wait()
            news.clear()
            for resource in self._resources:
                for item in self._seen.all(resource):
                    await self._adopt(resource, item)
            for machine in self._seen.all(Machine.RESOURCE):
                if FINALIZER in (machine["metadata"].get("finalizers") or ()):
                    await self._remove_finalizer(machine)

    async def _adopt(self, resource: Resource, infra: Document) -> None:
        metadata = infra["metadata"]
        labels = metadata.get("labels") or {}
        owners = metadata.get("ownerReferences") or []
        of_pool = Label.POOL_NAME in labels and Label.CLUSTER_NAME in labels
        has_machine = any(owner["kind"] == Machine.RESOURCE.kind for owner in owners)
        if not of_pool or has_machine or metadata.get("deletionTimestamp"):
            return
        with suppress(NotFound, Conflict):
            machine = await self._machine(infra, labels)
            others = [{**owner, "controller": False} for owner in owners]
            patch = {"ownerReferences": [*others, owned_by(machine, controller=True)]}
            patch["resourceVersion"] = metadata["resourceVersion"]
            await self._client.patch(resource, Key.of(infra), {"metadata": patch})

    async def _machine(self, infra: Document, labels: dict[str, str]) -> Document:
        key, kind = Key.of(infra), Machine.RESOURCE
        pool = await self._client.get(
            MachinePool.RESOURCE, Key(key.namespace, labels[Label.POOL_NAME])
        )
        document: Document = {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "metadata": {
                "name": key.name,
                "namespace": key.namespace,
                "labels": {item: labels[item] for item in (Label.CLUSTER_NAME, Label.POOL_NAME)},
                "finalizers": [FINALIZER],
                "ownerReferences": [owned_by(pool, controller=True)],
            },
            "spec": {
                "clusterName": labels[Label.CLUSTER_NAME],
                "bootstrap": {"dataSecretName": ""},
                "infrastructureRef": reference(infra),
            },
        }
        try:
            return await self._client.create(kind, document)
        except AlreadyExists:
            return await self._client.get(kind, key)

    async def _remove_finalizer(self, machine: Document) -> None:
        """Remove the finalizer of a deleted Machine after its infrastructure is gone."""
        if not machine["metadata"].get("deletionTimestamp"):
            return
        key, has_removed = Key.of(machine), False
        for resource in self._resources:
            with suppress(NotFound):
                result = await self._client.get(resource, key)
                has_removed = True
                if not result["metadata"].get("deletionTimestamp"):
                    await self._client.delete(resource, key)
        if not has_removed:
            with suppress(NotFound):
                await self._client.patch(Machine.RESOURCE, key, {"metadata": {"finalizers": None}})
