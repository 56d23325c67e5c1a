"""What core does for the single machines of pools: each gets a Machine, and goes with it."""

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
from kapy.testing.conformance.seen import Seen
from kapy.testing.played_core import owned_by, reference

FINALIZER: Final = "conformance.cluster.x-k8s.io/pool-machine"


class PoolMachines:
    """Sees to all of them. resources: the kinds of their objects."""

    def __init__(self, client: Client, seen: Seen, resources: list[Resource]) -> None:
        self._client = client
        self._seen = seen
        self._resources = resources

    async def run(self) -> None:
        """Until cancelled."""
        news = self._seen.news()
        while True:
            await news.wait()
            news.clear()
            for resource in self._resources:
                for one in self._seen.all(resource):
                    await self._adopt(resource, one)
            for machine in self._seen.all(Machine.RESOURCE):
                if FINALIZER in (machine["metadata"].get("finalizers") or ()):
                    await self._let_go(machine)

    async def _adopt(self, resource: Resource, infra: Document) -> None:
        metadata = infra["metadata"]
        labels = metadata.get("labels") or {}
        owners = metadata.get("ownerReferences") or []
        of_pool = Label.POOL_NAME in labels and Label.CLUSTER_NAME in labels
        has_machine = any(one["kind"] == Machine.RESOURCE.kind for one in owners)
        if not of_pool or has_machine or metadata.get("deletionTimestamp"):
            return
        with suppress(NotFound, Conflict):
            machine = await self._machine(infra, labels)
            others = [{**one, "controller": False} for one in owners]
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
                "labels": {one: labels[one] for one in (Label.CLUSTER_NAME, Label.POOL_NAME)},
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

    async def _let_go(self, machine: Document) -> None:
        """Of a Machine that is deleted: its infrastructure goes before."""
        if not machine["metadata"].get("deletionTimestamp"):
            return
        key, left = Key.of(machine), False
        for resource in self._resources:
            with suppress(NotFound):
                found = await self._client.get(resource, key)
                left = True
                if not found["metadata"].get("deletionTimestamp"):
                    await self._client.delete(resource, key)
        if not left:
            with suppress(NotFound):
                await self._client.patch(Machine.RESOURCE, key, {"metadata": {"finalizers": None}})
