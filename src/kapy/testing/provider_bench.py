"""A management plane with one provider and without core controllers, whose steps the test performs.

    async with provider_bench([PaperMachine.RESOURCE]) as bench:
        add_infra_machine(bench.runtime, PaperMachine, PaperCloud(), finalizer="paper.dev/machine")
        async with bench.running():
            await bench.cluster("blue", provisioned=True)
            await bench.machine("blue", "worker-0", paper_machine, bootstrap_data=b"#!/bin/sh")

Runs on virtual time, on an embedded API server without sockets; documents are frozen.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from random import Random
from typing import Any

from kapy._aio.clock import Clock, loop_clock
from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.api.machine_pool import MachinePool
from kapy.api.names import CLUSTER_GROUP
from kapy.apiserver.server import Server
from kapy.client.client import Client
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.errors import AlreadyExists, NotFound
from kapy.kube.http import ADMIN
from kapy.kube.names import CRDS, NAMESPACES, Resource
from kapy.testing.fake_core import FakeCore
from kapy.testing.frozen import Frozen

NAMESPACE = "default"
STEP = 0.05


class ProviderBench(FakeCore):
    """The environment of a provider under test: a plane and a substitute for core."""

    def __init__(self, server: Server, clock: Clock) -> None:
        self.server = server
        self.clock = clock
        self.transport = Frozen(server.transport(ADMIN))
        super().__init__(Client(self.transport, field_manager="core"), NAMESPACE, self._resource)
        self.runtime = Runtime.on(
            self.transport, clock=self.clock, field_manager="provider", random=Random(7)
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the provider's controllers while the context is open."""
        failure: BaseException | None = None
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self.runtime.run())
            await self.runtime.cache.wait_for_sync()
            try:
                yield
            except Exception as error:
                failure = error  # raised unchanged, not in an ExceptionGroup
            task.cancel()
        if failure is not None:
            raise failure

    async def serve(self, resources: Iterable[Resource]) -> None:
        """Serve more kinds, with a schema that accepts all fields."""
        for resource in resources:
            await self.client.create(CRDS, permissive(resource))

    async def get(self, resource: Resource, name: str) -> Document | None:
        """Read an object from the server."""
        try:
            return await self.client.get(resource, key(name))
        except NotFound:
            return None

    async def until(
        self, resource: Resource, name: str, holds: Callable[[Document], Any], within: float = 600
    ) -> Document:
        """Wait until `holds(object)`; AssertionError with the last state if that does not happen in
        time."""
        loop = asyncio.get_running_loop()
        deadline, result = loop.time() + within, None
        while loop.time() <= deadline:
            result = await self.get(resource, name)
            if result is not None and holds(result):
                return result
            await asyncio.sleep(STEP)
        raise AssertionError(f"{resource.kind} {name} is {result}")

    async def until_gone(self, resource: Resource, name: str, within: float = 600) -> None:
        """Wait until the object no longer exists."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + within
        while (result := await self.get(resource, name)) is not None:
            assert loop.time() <= deadline, f"{resource.kind} {name} is still there: {result}"
            await asyncio.sleep(STEP)

    def _resource(self, document: Document) -> Resource:
        group, _, version = document["apiVersion"].partition("/")
        kind = self.server.context.registry.find_kind(group, version, document["kind"])
        assert kind is not None, f"no CRD for {document['kind']}"
        return kind.resource


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
    """Return the key of the object with that name."""
    return Key(NAMESPACE, name)


def permissive(resource: Resource) -> Document:
    """Return a CRD of the current contract with every field and a status subresource."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": resource.group_resource,
            "labels": {f"{CLUSTER_GROUP}/v1beta2": resource.version},
        },
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
