"""The provider with hosts in memory, for the conformance kit: each namespace has Hosts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from kapy_hosts import provider
from kapy_hosts.kinds import Host, HostMachine

from kapy.client import AlreadyExists, ApiError
from kapy.kube.names import SECRETS
from kapy.sdk import Document, Key, Runtime
from simulated_hosts.memory_hosts import MemoryDialer, MemoryHost

HOSTS = 6


DIALER = MemoryDialer()
"""Hosts outlive the program that is killed."""


def add_to(runtime: Runtime) -> Mapping[str, Callable[[], Awaitable[None]]]:
    """Add the controllers, and keep an inventory in each namespace."""
    DIALER.make = lambda address: MemoryHost(address, _now)

    def _now() -> float:
        return runtime.clock().timestamp()

    services = dict(provider.add_to(runtime, DIALER))
    return services | {"inventory": inventory(runtime, _hosts)}


def inventory(runtime: Runtime, documents: Callable[[str], list[Document]]) -> Callable[[], Awaitable[None]]:
    """Return a service that creates objects in each namespace with a machine. documents: returns
    them."""
    machines = runtime.cache.informer(HostMachine.RESOURCE)
    namespaces: asyncio.Queue[str] = asyncio.Queue()
    machines.subscribe(lambda change: namespaces.put_nowait(change.document["metadata"]["namespace"]))

    async def run() -> None:
        filled: set[str] = set()
        while True:
            namespace = await namespaces.get()
            if namespace in filled:
                continue
            filled.add(namespace)
            for document in documents(namespace):
                await _create(runtime, document)

    return run


def host(key: Key, spec: Document) -> Document:
    """Return a Host with the label that moves it with its namespace."""
    labels = {"clusterctl.cluster.x-k8s.io/move": ""}
    metadata = {"name": key.name, "namespace": key.namespace, "labels": labels}
    return {"apiVersion": Host.RESOURCE.api_version, "kind": "Host", "metadata": metadata, "spec": spec}


def _hosts(namespace: str) -> list[Document]:
    keys = [Key(namespace, f"host-{number}") for number in range(HOSTS)]
    return [host(key, {"address": f"{key.name}.{namespace}.example.com"}) for key in keys]


async def _create(runtime: Runtime, document: Document) -> None:
    resource = SECRETS if document["kind"] == "Secret" else Host.RESOURCE
    for _ in range(20):
        try:
            await runtime.client.create(resource, document)
            return
        except AlreadyExists:
            return
        except ApiError:
            await asyncio.sleep(1)
