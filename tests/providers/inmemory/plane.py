"""A bench with the in-memory provider on it; the test plays core and the control plane."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from typing import Final

from kapy._aio.clock import system_clock
from kapy.api.dev_cluster import DevCluster
from kapy.api.dev_machine import DevMachine
from kapy.api.dev_machine_pool import DevMachinePool
from kapy.api.names import Label
from kapy.client.client import Client
from kapy.client.kubeconfig import parse
from kapy.kube import Document
from kapy.kube.names import SECRETS
from kapy.kube.pki import KeyPair, new_ca
from kapy.providers.inmemory import InMemoryClusters, add_to
from kapy.remote.cluster_cache import Kubeconfig
from kapy.remote.kubeconfig_secret import access, kubeconfig
from kapy.remote.secrets import (
    CLUSTER_CA,
    KUBECONFIG,
    KUBECONFIG_VALUE,
    certificate_secret,
    secret_key,
    secret_name,
)
from kapy.testing.provider_bench import NAMESPACE, ProviderBench, key, provider_bench

GROUP = "infrastructure.cluster.x-k8s.io/v1beta2"
CLUSTERS, MACHINES = DevCluster.RESOURCE, DevMachine.RESOURCE
POOLS = DevMachinePool.RESOURCE

UPSTREAM: dict[str, str] = {"vm": "10s", "node": "2s", "etcd": "2s", "apiServer": "2s"}
"""Start-up durations of upstream's sample: 16 s for a control plane machine and a worker."""

# One CA for all tests: a key takes its time. It is older than any test's clock, virtual or not.
_CA: list[KeyPair] = []
_CA_TIME: Final = datetime(2025, 1, 1, tzinfo=UTC)


def dev_cluster(name: str, **backend: Document) -> Document:
    return {
        "apiVersion": GROUP,
        "kind": "DevCluster",
        "metadata": {"name": name},
        "spec": {"backend": backend or {"inMemory": {}}},
    }


def dev_machine(durations: Mapping[str, str] | None = None, jitter: str = "") -> Document:
    parts: Document = {}
    for part, duration in (durations or {}).items():
        provisioning = {"startupDuration": duration}
        if jitter:
            provisioning["startupJitter"] = jitter
        parts[part] = {"provisioning": provisioning}
    return {
        "apiVersion": GROUP,
        "kind": "DevMachine",
        "metadata": {},
        "spec": {"backend": {"inMemory": parts}},
    }


def conditions(document: Document) -> dict[str, tuple[str, str]]:
    result = document.get("status", {}).get("conditions", [])
    return {item["type"]: (item["status"], item["reason"]) for item in result}


def is_ready(document: Document) -> bool:
    return conditions(document).get("Ready", ("", ""))[0] == "True"


class Plane:
    """One process with the provider, and what core does around it."""

    def __init__(self, bench: ProviderBench, *, sockets: bool = False, host: str = "") -> None:
        self.bench = bench
        self._sockets = sockets
        self._host = host
        self.in_memory = InMemoryClusters(clock=bench.clock)
        self._running = AsyncExitStack()

    async def cluster(self, name: str, infra: Document | None = None) -> Document:
        """A Cluster with its DevCluster and its CA, provisioned."""
        await self.bench.cluster(name, infra or dev_cluster(name))
        secret = certificate_secret(key(name), CLUSTER_CA, self.authority)
        await self.bench.client.create(SECRETS, secret)
        document = await self.bench.until(
            CLUSTERS, name, lambda item: "initialization" in item.get("status", {})
        )
        await self.bench.cluster_provisioned(name)
        return document

    async def machine(
        self,
        cluster: str,
        name: str,
        infra: Document | None = None,
        *,
        control_plane: bool = False,
        bootstrap_data: bytes | None = b"#cloud-config\n",
    ) -> None:
        await self.bench.machine(
            cluster,
            name,
            infra or dev_machine(),
            control_plane=control_plane,
            bootstrap_data=bootstrap_data,
        )

    async def ready(self, *names: str) -> None:
        for name in names:
            await self.bench.until(MACHINES, name, is_ready)

    async def running(self, name: str, workers: int = 0, infra: Document | None = None) -> None:
        """A cluster of one control plane machine and some workers, up."""
        await self.cluster(name, infra)
        await self.machine(name, f"{name}-cp", control_plane=True)
        for number in range(workers):
            await self.machine(name, f"{name}-{number}")
        await self.ready(f"{name}-cp", *(f"{name}-{number}" for number in range(workers)))

    @property
    def authority(self) -> KeyPair:
        if not _CA:
            _CA.append(new_ca("kubernetes", now=_CA_TIME, algorithm="ECDSA-P256"))
        return _CA[0]

    async def kubeconfig(self, name: str, ca: KeyPair | None = None) -> Kubeconfig:
        """The administrator's way to a cluster."""
        return parse(await self.kubeconfig_text(name, ca))

    async def kubeconfig_text(self, name: str, ca: KeyPair | None = None) -> str:
        """The same as a file's text."""
        infra = await self.bench.get(CLUSTERS, name)
        assert infra is not None
        endpoint = infra["spec"]["controlPlaneEndpoint"]
        server = f"https://{endpoint['host']}:{endpoint['port']}"
        return kubeconfig(
            name, server, ca or self.authority, now=self.bench.clock(), algorithm="ECDSA-P256"
        )

    async def store_kubeconfig(self, name: str) -> Kubeconfig:
        """Write the Secret that the control plane provider writes."""
        text = await self.kubeconfig_text(name)
        metadata = {
            "name": secret_name(name, KUBECONFIG),
            "namespace": NAMESPACE,
            "labels": {Label.CLUSTER_NAME: name},
        }
        data = {KUBECONFIG_VALUE: b64encode(text.encode()).decode()}
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}
        await self.bench.client.create(SECRETS, secret)
        return parse(text)

    async def stored_kubeconfig(self, name: str) -> Kubeconfig:
        """Read that Secret."""
        return access(await self.bench.client.get(SECRETS, secret_key(key(name), KUBECONFIG)))

    async def workload(self, name: str) -> Client:
        """A client of the workload cluster."""
        return Client(self.in_memory.dial(await self.kubeconfig(name)))

    async def restart(self, *, host: str | None = None) -> None:
        """Kill the process, start another one on the same management data. host: its address, if
        that is another one."""
        await self.stop()
        self._host = self._host if host is None else host
        self.bench = ProviderBench(self.bench.server, self.bench.clock)
        await self.start()

    async def start(self) -> None:
        self.in_memory = InMemoryClusters(clock=self.bench.clock, host=self._host)
        add_to(self.bench.runtime, self.in_memory)
        if self._sockets:
            self.in_memory.listen()
            await self._running.enter_async_context(_serving(self.in_memory))
        await self._running.enter_async_context(self.bench.running())

    async def stop(self) -> None:
        await self._running.aclose()
        self.in_memory.close()


@asynccontextmanager
async def _serving(in_memory: InMemoryClusters) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(in_memory.serve())
        try:
            yield
        finally:
            task.cancel()


@asynccontextmanager
async def in_memory_plane(*, sockets: bool = False, host: str = "") -> AsyncIterator[Plane]:
    clock = system_clock if sockets else None  # certificates are checked by those who have one
    async with provider_bench([CLUSTERS, MACHINES, POOLS], clock=clock) as bench:
        plane = Plane(bench, sockets=sockets, host=host)
        await plane.start()
        try:
            yield plane
        finally:
            await plane.stop()


async def settled() -> None:
    await asyncio.sleep(30)
