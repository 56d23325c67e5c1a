"""What the SDK costs where there is nothing to do: looks at settled objects of a provider whose
answers cost nothing, so that only what the SDK does around them is in it."""

from __future__ import annotations

import asyncio
import time
from ipaddress import ip_address
from typing import Any, Final

from kapy._aio.clock import system_clock
from kapy.api.ip_address import IPAddress, IPAddressClaim
from kapy.engine.controller import Controller
from kapy.kube import Document, Key
from kapy.kube.names import CONFIG_MAPS, SECRETS, Resource
from kapy.sdk import (
    Address,
    AddressOrder,
    Allocated,
    ClusterOrder,
    ClusterProvisioned,
    Endpoint,
    InfraClusterProvider,
    InfraMachineProvider,
    IPAMProvider,
    MachineOrder,
    Provisioned,
    Released,
    Runtime,
    Tenants,
    add_infra_cluster,
    add_infra_machine,
    add_ipam,
)
from kapy.testing.provider_bench import NAMESPACE, ProviderBench, key, provider_bench

Row = dict[str, Any]
GROUP: Final = "infrastructure.cluster.x-k8s.io"
CLUSTERS: Final = Resource(GROUP, "v1", "idleclusters", "IdleCluster")
MACHINES: Final = Resource(GROUP, "v1", "idlemachines", "IdleMachine")
POOLS: Final = Resource("ipam.example.dev", "v1", "idlepools", "IdlePool")
CLAIMS: Final = IPAddressClaim.RESOURCE
FINALIZER: Final = "idle.example.dev/bench"
ADDRESSES: Final = (Address("InternalIP", "10.0.0.4"),)
LOOKS: Final = 200
ROUNDS: Final = 25
SETTLING: Final = 1.0  # seconds; nothing tells that nothing is left to do


class Land(InfraClusterProvider[Document]):
    """Clusters that are there already."""

    async def converge(self, order: ClusterOrder[Document]) -> ClusterProvisioned:  # noqa: ARG002
        return ClusterProvisioned(endpoint=Endpoint("idle.example.dev", 6443))

    async def release(self, order: ClusterOrder[Document]) -> Released:  # noqa: ARG002
        return Released()


class Cloud(InfraMachineProvider[Document]):
    """Machines that are there already."""

    async def converge(self, order: MachineOrder[Document]) -> Provisioned:
        return Provisioned(provider_id=f"idle://{order.key.name}", addresses=ADDRESSES)

    async def release(self, order: MachineOrder[Document]) -> Released:  # noqa: ARG002
        return Released()


class MakingCloud(Cloud):
    """The same, with an object in the management cluster for each."""

    async def converge(self, order: MachineOrder[Document]) -> Provisioned:
        await order.make(CONFIG_MAPS, {})
        return await super().converge(order)


class Addresses(IPAMProvider[Document]):
    """One address for each claim."""

    async def allocate(self, order: AddressOrder[Document]) -> Allocated:
        return Allocated(address=ip_address(f"10.0.0.{len(order.taken) + 1}"), prefix=24)

    async def free(self, order: AddressOrder[Document]) -> Released:  # noqa: ARG002
        return Released()


async def looks() -> list[Row]:
    """Every kind, and what is optional: an object that is made, credentials of a tenant."""
    plain = await _looked(Cloud())
    making = await _looked(MakingCloud(), makes=[CONFIG_MAPS])
    tenants = await _looked(Cloud(), credentials=True)
    return [
        *plain,
        {**making[1], "step": "look at an infra machine that made an object"},
        {**tenants[1], "step": "look at an infra machine with credentials"},
    ]


async def _looked(cloud: Cloud, *, credentials: bool = False, **extras: Any) -> list[Row]:
    kinds = [CLUSTERS, MACHINES, POOLS, CLAIMS, IPAddress.RESOURCE]
    async with provider_bench(kinds, clock=system_clock) as bench:
        if credentials:
            extras["credentials"] = Tenants(bench.runtime, CLUSTERS, finalizer=FINALIZER)
        controllers = _added(bench.runtime, cloud, extras)
        async with bench.running():
            await _made(bench, credentials=credentials)
            await asyncio.sleep(SETTLING)
            return [await _measured(*one) for one in controllers]


def _added(
    runtime: Runtime, cloud: Cloud, extras: dict[str, Any]
) -> list[tuple[str, Controller, str]]:
    told = {"finalizer": FINALIZER, **extras}
    return [
        ("an infra cluster", add_infra_cluster(runtime, CLUSTERS, Land(), **told), "blue"),
        ("an infra machine", add_infra_machine(runtime, MACHINES, cloud, **told), "worker-0"),
        ("a claim", add_ipam(runtime, POOLS, Addresses()), "vm-0"),
    ]


async def _made(bench: ProviderBench, *, credentials: bool) -> None:
    spec: Document = {"identityRef": {"kind": "Secret", "name": "blue"}} if credentials else {}
    if credentials:
        await bench.client.create(
            SECRETS, _object(SECRETS, "blue", {}) | {"data": {"token": "eA=="}}
        )
    infra = _object(CLUSTERS, "blue", spec)
    await bench.cluster("blue", infra, provisioned=True)
    await bench.machine("blue", "worker-0", _object(MACHINES, "", {}), bootstrap_data=b"#!/bin/sh")
    await bench.client.create(POOLS, _object(POOLS, "pool", {}))
    pool = {"apiGroup": POOLS.group, "kind": POOLS.kind, "name": "pool"}
    claim = _object(CLAIMS, "vm-0", {"poolRef": pool, "clusterName": "blue"})
    await bench.client.create(CLAIMS, claim)


def _object(resource: Resource, name: str, spec: Document) -> Document:
    metadata = {"name": name, "namespace": NAMESPACE}
    api_version = resource.api_version
    return {"apiVersion": api_version, "kind": resource.kind, "metadata": metadata, "spec": spec}


async def _measured(what: str, controller: Controller, name: str) -> Row:
    """Microseconds of a look; the best round is the one that nobody else disturbed."""
    rounds = sorted([await _round(controller, key(name)) for _ in range(ROUNDS)])
    return {
        "step": f"look at {what}",
        "us": round(rounds[0], 1),
        "median_us": round(rounds[ROUNDS // 2], 1),
    }


async def _round(controller: Controller, of: Key) -> float:
    began = time.process_time()
    for _ in range(LOOKS):
        await controller.look(of)
    return (time.process_time() - began) / LOOKS * 1e6
