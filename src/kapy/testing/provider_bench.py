"""A management plane with nothing in it but a provider; the test plays core.

    async with provider_bench([PaperMachine.RESOURCE]) as bench:
        add_infra_machine(bench.runtime, PaperMachine, PaperCloud(), finalizer="paper.dev/machine")
        async with bench.running():
            await bench.cluster("blue", provisioned=True)
            await bench.machine("blue", "worker-0", paper_machine, bootstrap_data=b"#!/bin/sh")

Runs on virtual time, on an embedded API server without sockets; documents are frozen.
"""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from random import Random
from typing import Any

from kapy._aio.clock import Clock, loop_clock
from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.api.machine_pool import MachinePool
from kapy.api.names import Label
from kapy.apiserver.server import Server
from kapy.client.client import Client
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.errors import AlreadyExists, NotFound
from kapy.kube.http import ADMIN
from kapy.kube.names import CRDS, NAMESPACES, SECRETS, Resource
from kapy.testing.frozen import Frozen

NAMESPACE = "default"
STEP = 0.05


class ProviderBench:
    """What a provider meets: a plane, and somebody who does what core does."""

    def __init__(self, server: Server, clock: Clock) -> None:
        self.server = server
        self.clock = clock
        self.transport = Frozen(server.transport(ADMIN))
        self.client = Client(self.transport, field_manager="core")
        self.runtime = Runtime.on(
            self.transport, clock=self.clock, field_manager="provider", random=Random(7)
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the provider's controllers meanwhile."""
        failure: BaseException | None = None
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self.runtime.run())
            await self.runtime.cache.synced()
            try:
                yield
            except Exception as error:
                failure = error  # to come out as it is, in no group
            task.cancel()
        if failure is not None:
            raise failure

    async def serve(self, resources: Iterable[Resource]) -> None:
        """Serve more kinds, with whatever fields they have."""
        for resource in resources:
            await self.client.create(CRDS, permissive(resource))

    async def cluster(
        self, name: str, infra: Document | None = None, *, provisioned: bool = False
    ) -> Document:
        """A Cluster, and its infrastructure (created as a user does, owned as core does)."""
        spec: Document = {"clusterNetwork": {"pods": {"cidrBlocks": ["192.168.0.0/16"]}}}
        if infra is not None:
            spec["infrastructureRef"] = reference(infra)
        document = {
            "apiVersion": Cluster.RESOURCE.api_version,
            "kind": "Cluster",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": spec,
        }
        cluster = await self.client.create(Cluster.RESOURCE, document)
        if infra is not None:
            await self._create_owned(infra, cluster, {Label.CLUSTER_NAME: name})
        if provisioned:
            await self.cluster_provisioned(name)
        return cluster

    async def cluster_provisioned(self, name: str) -> None:
        """Let the machines of a cluster start."""
        status = {"status": {"initialization": {"infrastructureProvisioned": True}}}
        await self.client.patch(Cluster.RESOURCE, key(name), status, subresource="status")

    async def machine(
        self,
        cluster: str,
        name: str,
        infra: Document,
        *,
        control_plane: bool = False,
        version: str = "v1.34.0",
        bootstrap_data: bytes | None = None,
    ) -> Document:
        """A Machine and its infrastructure, which gets the Machine's name."""
        labels = {Label.CLUSTER_NAME: cluster}
        if control_plane:
            labels[Label.CONTROL_PLANE] = ""
        infra = {**infra, "metadata": {**infra.get("metadata", {}), "name": name}}
        document = {
            "apiVersion": Machine.RESOURCE.api_version,
            "kind": "Machine",
            "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
            "spec": {
                "clusterName": cluster,
                "version": version,
                "bootstrap": {},
                "infrastructureRef": reference(infra),
            },
        }
        machine = await self.client.create(Machine.RESOURCE, document)
        await self._create_owned(infra, machine, labels, controller=True)
        if bootstrap_data is not None:
            await self.bootstrap(cluster, name, bootstrap_data)
        return machine

    async def bootstrap(self, cluster: str, machine: str, data: bytes) -> None:
        """The bootstrap data of a Machine, as a bootstrap provider hands it over."""
        await self._bootstrap_data(cluster, machine, data)
        patch = {"spec": {"bootstrap": {"dataSecretName": machine}}}
        await self.client.patch(Machine.RESOURCE, key(machine), patch)

    async def machine_pool(
        self, cluster: str, name: str, infra: Document, *, replicas: int = 1, **spec: Any
    ) -> Document:
        """A MachinePool and its infrastructure, which gets the pool's name."""
        infra = {**infra, "metadata": {**infra.get("metadata", {}), "name": name}}
        labels = {Label.CLUSTER_NAME: cluster}
        template: Document = {"clusterName": cluster, "version": "v1.34.0", "bootstrap": {}}
        template["infrastructureRef"] = reference(infra)
        document = {
            "apiVersion": MachinePool.RESOURCE.api_version,
            "kind": MachinePool.RESOURCE.kind,
            "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
            "spec": {
                "clusterName": cluster,
                "replicas": replicas,
                "template": {"spec": template},
                **spec,
            },
        }
        pool = await self.client.create(MachinePool.RESOURCE, document)
        await self._create_owned(infra, pool, labels, controller=True)
        return pool

    async def pool_bootstrap(self, cluster: str, pool: str, data: bytes) -> None:
        """The bootstrap data of a MachinePool, as a bootstrap provider hands it over."""
        await self._bootstrap_data(cluster, pool, data)
        patch = {"spec": {"template": {"spec": {"bootstrap": {"dataSecretName": pool}}}}}
        await self.client.patch(MachinePool.RESOURCE, key(pool), patch)

    async def _bootstrap_data(self, cluster: str, name: str, data: bytes) -> None:
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "cluster.x-k8s.io/secret",
            "metadata": {
                "name": name,
                "namespace": NAMESPACE,
                "labels": {Label.CLUSTER_NAME: cluster},
            },
            "data": {
                "value": b64encode(data).decode(),
                "format": b64encode(b"cloud-config").decode(),
            },
        }
        await self.client.create(SECRETS, secret)

    async def get(self, resource: Resource, name: str) -> Document | None:
        """The object as the server has it."""
        try:
            return await self.client.get(resource, key(name))
        except NotFound:
            return None

    async def until(
        self, resource: Resource, name: str, holds: Callable[[Document], Any], within: float = 600
    ) -> Document:
        """Wait until `holds(object)`; AssertionError with the last state when it never does."""
        loop = asyncio.get_running_loop()
        deadline, found = loop.time() + within, None
        while loop.time() <= deadline:
            found = await self.get(resource, name)
            if found is not None and holds(found):
                return found
            await asyncio.sleep(STEP)
        raise AssertionError(f"{resource.kind} {name} is {found}")

    async def until_gone(self, resource: Resource, name: str, within: float = 600) -> None:
        """Wait until the object is not there any more."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + within
        while (found := await self.get(resource, name)) is not None:
            assert loop.time() <= deadline, f"{resource.kind} {name} is still there: {found}"
            await asyncio.sleep(STEP)

    async def _create_owned(
        self,
        document: Document,
        owner: Document,
        labels: dict[str, str],
        *,
        controller: bool = False,
    ) -> None:
        resource = self._resource(document)
        metadata = {**document["metadata"], "namespace": NAMESPACE}
        created = await self.client.create(resource, {**document, "metadata": metadata})
        owned: Document = {
            "apiVersion": owner["apiVersion"],
            "kind": owner["kind"],
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
        }
        if controller:
            owned |= {"controller": True, "blockOwnerDeletion": True}
        patch = {"metadata": {"ownerReferences": [owned], "labels": labels}}
        await self.client.patch(resource, Key.of(created), patch)

    def _resource(self, document: Document) -> Resource:
        group, _, version = document["apiVersion"].partition("/")
        found = self.server.plane.registry.of_kind(group, version, document["kind"])
        assert found is not None, f"no CRD for {document['kind']}"
        return found.resource


@asynccontextmanager
async def provider_bench(
    resources: Iterable[Resource], *, clock: Clock | None = None
) -> AsyncIterator[ProviderBench]:
    """A plane that serves core's kinds and these resources; on the loop's time by default."""
    clock = clock or loop_clock()
    server = Server.open(None, clock=clock)
    bench = ProviderBench(server, clock)
    try:
        with suppress(AlreadyExists):
            await bench.client.create(
                NAMESPACES,
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
            )
        own = (Cluster.RESOURCE, Machine.RESOURCE, MachinePool.RESOURCE)
        await bench.serve([*own, *resources])
        yield bench
    finally:
        server.close()


def key(name: str) -> Key:
    """Where the bench keeps the object of that name."""
    return Key(NAMESPACE, name)


def reference(document: Document) -> Document:
    """A contract-versioned reference to an object."""
    return {
        "apiGroup": document["apiVersion"].partition("/")[0],
        "kind": document["kind"],
        "name": document["metadata"]["name"],
    }


def permissive(resource: Resource) -> Document:
    """A CRD that lets every field through and has a status subresource."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": resource.group_resource},
        "spec": {
            "group": resource.group,
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "names": {
                "plural": resource.plural,
                "singular": resource.kind.lower(),
                "kind": resource.kind,
                "listKind": f"{resource.kind}List",
            },
            "versions": [
                {
                    "name": resource.version,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "x-kubernetes-preserve-unknown-fields": True,
                        }
                    },
                }
            ],
        },
    }
