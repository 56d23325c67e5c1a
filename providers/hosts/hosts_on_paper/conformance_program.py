"""The provider with hosts in memory, for the conformance kit: each namespace has Hosts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress

from kapy_hosts import provider
from kapy_hosts.kinds import Host, HostMachine

from hosts_on_paper.memory_hosts import MemoryDialer, MemoryHost
from kapy.client import AlreadyExists, ApiError
from kapy.sdk import Key, Runtime

HOSTS = 6


DIALER = MemoryDialer()
"""Hosts outlive the program that is killed."""


def add_to(runtime: Runtime) -> Mapping[str, Callable[[], Awaitable[None]]]:
    """Add the controllers, and keep an inventory in each namespace."""
    DIALER.make = lambda address: MemoryHost(address, _now)

    def _now() -> float:
        return runtime.clock().timestamp()

    services = dict(provider.add_to(runtime, DIALER))
    machines = runtime.cache.informer(HostMachine.RESOURCE)
    namespaces: asyncio.Queue[str] = asyncio.Queue()
    machines.subscribe(lambda change: namespaces.put_nowait(change.document["metadata"]["namespace"]))

    async def inventory() -> None:
        known: set[str] = set()
        while True:
            namespace = await namespaces.get()
            if namespace in known:
                continue
            known.add(namespace)
            for number in range(HOSTS):
                with suppress(AlreadyExists):
                    await _create(runtime, Key(namespace, f"host-{number}"))

    return services | {"inventory": inventory}


async def _create(runtime: Runtime, key: Key) -> None:
    labels = {"clusterctl.cluster.x-k8s.io/move": ""}
    document = {
        "apiVersion": Host.RESOURCE.api_version,
        "kind": "Host",
        "metadata": {"name": key.name, "namespace": key.namespace, "labels": labels},
        "spec": {"address": f"{key.name}.{key.namespace}.example.com"},
    }
    for _ in range(20):
        try:
            await runtime.client.create(Host.RESOURCE, document)
            return
        except AlreadyExists:
            return
        except ApiError:
            await asyncio.sleep(1)
