"""The cost of the SDK when there is nothing to do: reconciles of settled objects.

The provider's answers cost nothing, so the rows have the SDK's own work only."""

from __future__ import annotations

import asyncio
import time
from ipaddress import ip_address
from typing import Any, Final

from kapy._aio.clock import system_clock
from kapy.api.ip_address import IPAddress, IPAddressClaim
from kapy.api.machine import Machine
from kapy.api.names import Label
from kapy.engine.controller import Controller
from kapy.kube import Document, Key
from kapy.kube.names import CONFIG_MAPS, SECRETS, Resource
from kapy.sdk import (
    Address,
    AddressClaimContext,
    Allocated,
    ClusterContext,
    ClusterProvisioned,
    ControlPlaneContext,
    ControlPlaneProvider,
    ControlPlaneProvisioned,
    Endpoint,
    InfraClusterProvider,
    InfraMachineProvider,
    IPAMProvider,
    MachineContext,
    Provisioned,
    Released,
    Runtime,
    add_control_plane,
    add_infra_cluster,
    add_infra_machine,
    add_ipam,
)
from kapy.sdk.certificates import ClusterCertificate
from kapy.sdk.credentials import TenantCredentials
from kapy.sdk.machine_control_plane import (
    ControlPlaneObserved,
    MachineControlPlaneContext,
    MachineControlPlaneProvider,
    add_machine_based_control_plane,
)
from kapy.testing.fake_core import reference
from kapy.testing.provider_bench import NAMESPACE, STEP, ProviderBench, key, provider_bench

Row = dict[str, Any]
GROUP: Final = "infrastructure.cluster.x-k8s.io"
CLUSTERS: Final = Resource(GROUP, "v1", "idleclusters", "IdleCluster")
MACHINES: Final = Resource(GROUP, "v1", "idlemachines", "IdleMachine")
POOLS: Final = Resource("ipam.example.dev", "v1", "idlepools", "IdlePool")
CLAIMS: Final = IPAddressClaim.RESOURCE
PLANES: Final = Resource("controlplane.cluster.x-k8s.io", "v1", "idleplanes", "IdlePlane")
STACKS: Final = Resource("controlplane.cluster.x-k8s.io", "v1", "idlestacks", "IdleStack")
CONFIGS: Final = Resource("bootstrap.cluster.x-k8s.io", "v1", "idleconfigs", "IdleConfig")
TEMPLATES: Final = Resource(GROUP, "v1", "idlemachinetemplates", "IdleMachineTemplate")
STACKED: Final = 3
FINALIZER: Final = "idle.example.dev/bench"
ADDRESSES: Final = (Address("InternalIP", "10.0.0.4"),)
LOOKS: Final = 200
ROUNDS: Final = 25
SETTLING: Final = 1.0  # seconds, because no event tells that all work is done


class Land(InfraClusterProvider[Document]):
    """Clusters that are there already."""

    async def reconcile_normal(self, context: ClusterContext[Document]) -> ClusterProvisioned:  # noqa: ARG002
        return ClusterProvisioned(endpoint=Endpoint("idle.example.dev", 6443))

    async def reconcile_delete(self, context: ClusterContext[Document]) -> Released:  # noqa: ARG002
        return Released()


class Cloud(InfraMachineProvider[Document]):
    """Machines that are there already."""

    async def reconcile_normal(self, context: MachineContext[Document]) -> Provisioned:
        return Provisioned(provider_id=f"idle://{context.key.name}", addresses=ADDRESSES)

    async def reconcile_delete(self, context: MachineContext[Document]) -> Released:  # noqa: ARG002
        return Released()


class OwningCloud(Cloud):
    """Machines that exist already, with an owned ConfigMap for each."""

    async def reconcile_normal(self, context: MachineContext[Document]) -> Provisioned:
        await context.ensure_owned(CONFIG_MAPS, {})
        return await super().reconcile_normal(context)


class Service(ControlPlaneProvider[Document]):
    """Control planes that are there already."""

    async def reconcile_normal(
        self, context: ControlPlaneContext[Document]
    ) -> ControlPlaneProvisioned:
        endpoint = Endpoint("idle.example.dev", 6443)
        return ControlPlaneProvisioned(
            endpoint=endpoint, version=context.version, kubeconfig=b"clusters: []"
        )

    async def reconcile_delete(self, context: ControlPlaneContext[Document]) -> Released:  # noqa: ARG002
        return Released()


class Stacks(MachineControlPlaneProvider[Document]):
    """Machines that look like a control plane from the beginning."""

    algorithm = "ECDSA-P256"
    certificates = (ClusterCertificate("ca", algorithm="ECDSA-P256"),)

    async def bootstrap_config(
        self, context: MachineControlPlaneContext[Document], *, first: bool
    ) -> Document:
        del context, first
        return {"apiVersion": CONFIGS.api_version, "kind": CONFIGS.kind, "spec": {"size": "small"}}

    async def observe(self, context: MachineControlPlaneContext[Document]) -> ControlPlaneObserved:  # noqa: ARG002
        return ControlPlaneObserved(initialized=True)


class Addresses(IPAMProvider[Document]):
    """One address for each claim."""

    async def allocate(self, context: AddressClaimContext[Document]) -> Allocated:
        return Allocated(address=ip_address(f"10.0.0.{len(context.taken) + 1}"), prefix=24)

    async def free(self, context: AddressClaimContext[Document]) -> Released:  # noqa: ARG002
        return Released()


async def looks() -> list[Row]:
    """Measure every kind, and the options: an owned object, credentials of a tenant."""
    plain = await _looked(Cloud())
    making = await _looked(OwningCloud(), owns=[CONFIG_MAPS])
    tenants = await _looked(Cloud(), credentials=True)
    return [
        *plain,
        *await _planes(),
        {**making[1], "step": "look at an infra machine that made an object"},
        {**tenants[1], "step": "look at an infra machine with credentials"},
    ]


async def _looked(cloud: Cloud, *, credentials: bool = False, **extras: Any) -> list[Row]:
    kinds = [CLUSTERS, MACHINES, POOLS, CLAIMS, IPAddress.RESOURCE]
    async with provider_bench(kinds, clock=system_clock) as bench:
        if credentials:
            extras["credentials"] = TenantCredentials(bench.runtime, CLUSTERS, finalizer=FINALIZER)
        controllers = _added(bench.runtime, cloud, extras)
        async with bench.running():
            await _made(bench, credentials=credentials)
            await asyncio.sleep(SETTLING)
            return [await _measured(*controller) for controller in controllers]


async def _planes() -> list[Row]:
    """Control planes: one that somebody runs, and one of Machines."""
    kinds = [PLANES, STACKS, CONFIGS, TEMPLATES, MACHINES]
    async with provider_bench(kinds, clock=system_clock) as bench:
        plane = add_control_plane(bench.runtime, PLANES, Service(), finalizer=FINALIZER)
        stack = add_machine_based_control_plane(
            bench.runtime, STACKS, Stacks(), finalizer=FINALIZER
        )
        async with bench.running():
            template: Document = {"template": {"spec": {}}}
            await bench.client.create(TEMPLATES, _object(TEMPLATES, "machines", template))
            await _begun(bench, _object(PLANES, "green", {"version": "v1.34.0"}))
            infra = {"apiGroup": GROUP, "kind": TEMPLATES.kind, "name": "machines"}
            machines = {"spec": {"infrastructureRef": infra}}
            spec = {"version": "v1.34.0", "replicas": STACKED, "machineTemplate": machines}
            await _begun(bench, _object(STACKS, "red", spec))
            for number in range(1, STACKED + 1):
                await _nodes(bench, number)
            await asyncio.sleep(SETTLING)
            return [
                await _measured("a control plane that somebody runs", plane, "green"),
                await _measured(f"a control plane of {STACKED} Machines", stack, "red"),
            ]


async def _begun(bench: ProviderBench, plane: Document) -> None:
    name = plane["metadata"]["name"]
    endpoint = {"host": "idle.example.dev", "port": 6443}
    cluster = await bench.cluster(
        name, provisioned=True, controlPlaneRef=reference(plane), controlPlaneEndpoint=endpoint
    )
    await bench.create_owned(plane, cluster, {Label.CLUSTER_NAME: name}, controller=True)


async def _nodes(bench: ProviderBench, number: int) -> None:
    """Wait for so many Machines, and give them Nodes."""
    machines: list[Document] = []
    while len(machines) < number:
        await asyncio.sleep(STEP)
        machines = list((await bench.client.list(Machine.RESOURCE, NAMESPACE)).items)
    for machine in machines:
        node: Document = {"status": {"nodeRef": {"name": machine["metadata"]["name"]}}}
        await bench.client.patch(Machine.RESOURCE, Key.of(machine), node, subresource="status")


def _added(
    runtime: Runtime, cloud: Cloud, extras: dict[str, Any]
) -> list[tuple[str, Controller, str]]:
    document = {"finalizer": FINALIZER, **extras}
    return [
        ("an infra cluster", add_infra_cluster(runtime, CLUSTERS, Land(), **document), "blue"),
        ("an infra machine", add_infra_machine(runtime, MACHINES, cloud, **document), "worker-0"),
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
        await controller.reconcile_once(of)
    return (time.process_time() - began) / LOOKS * 1e6
