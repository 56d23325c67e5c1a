"""The infrastructure contracts as executable checks.

Give one an example of a kind and a function that makes a fresh provider; it raises
AssertionError with the name of the rule that was broken. Providers run it in their own tests.
Async, on virtual time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Final

from kapy.api.condition import Condition, V1Beta1Condition
from kapy.api.machine_pool import MachinePool
from kapy.contract.infra_cluster import InfraCluster
from kapy.contract.infra_machine import InfraMachine
from kapy.contract.infra_machine_pool import InfraMachinePool
from kapy.kube import Document
from kapy.kube.names import Resource
from kapy.sdk import (
    InfraClusterProvider,
    InfraMachinePoolProvider,
    InfraMachineProvider,
    MachineOrder,
    Provisioned,
    Released,
    Runtime,
    Waiting,
    add_infra_cluster,
    add_infra_machine,
    add_infra_machine_pool,
)
from kapy.testing.provider_bench import NAMESPACE, ProviderBench, key, provider_bench

FINALIZER: Final = "conformance.cluster.x-k8s.io/check"
CLUSTER: Final = "conformance"
NAME: Final = "worker-0"
PATIENCE: Final = 600.0
QUIET: Final = 30.0


async def check_infra_machine(
    kind: type[Any] | Resource,
    example: Document,
    make: Callable[[Runtime], InfraMachineProvider[Any]],
) -> None:
    """The InfraMachine contract. example: an object of the kind, as a user would write it."""
    resource = kind if isinstance(kind, Resource) else kind.RESOURCE
    for rule in (_machine_life, _machine_deleted_at_once, _machine_paused):
        async with provider_bench([resource]) as bench:
            provider = _Overheard(make(bench.runtime))
            add_infra_machine(bench.runtime, kind, provider, finalizer=FINALIZER)
            async with bench.running():
                await rule(bench, resource, example)
            ids = provider.ids
            assert len(ids) <= 1, f"provider ID: must not change, was {ids[0]!r}, is {ids[-1]!r}"


class _Overheard(InfraMachineProvider[Any]):
    """A provider, and the different provider IDs that it answered."""

    def __init__(self, provider: InfraMachineProvider[Any]) -> None:
        self._provider = provider
        self.ids: list[str] = []

    async def converge(self, order: MachineOrder[Any]) -> Provisioned | Waiting:
        answer = await self._provider.converge(order)
        if isinstance(answer, Provisioned) and answer.provider_id not in self.ids:
            self.ids.append(answer.provider_id)
        return answer

    async def release(self, order: MachineOrder[Any]) -> Released | Waiting:
        return await self._provider.release(order)

    def before_start(self, order: MachineOrder[Any], reason: str) -> Sequence[Condition]:
        return self._provider.before_start(order, reason)

    def for_v1beta1(self, reported: Sequence[Condition]) -> Sequence[V1Beta1Condition]:
        return self._provider.for_v1beta1(reported)


async def check_infra_cluster(
    kind: type[Any] | Resource,
    example: Document,
    make: Callable[[Runtime], InfraClusterProvider[Any]],
) -> None:
    """The InfraCluster contract. example: an object of the kind, as a user would write it."""
    resource = kind if isinstance(kind, Resource) else kind.RESOURCE
    async with provider_bench([resource]) as bench:
        add_infra_cluster(bench.runtime, kind, make(bench.runtime), finalizer=FINALIZER)
        async with bench.running():
            await _cluster_life(bench, resource, example)


async def check_infra_machine_pool(
    kind: type[Any] | Resource,
    example: Document,
    make: Callable[[Runtime], InfraMachinePoolProvider[Any]],
) -> None:
    """The InfraMachinePool contract. example: an object of the kind, as a user would write it."""
    resource = kind if isinstance(kind, Resource) else kind.RESOURCE
    async with provider_bench([resource]) as bench:
        add_infra_machine_pool(bench.runtime, kind, make(bench.runtime), finalizer=FINALIZER)
        async with bench.running():
            await _pool_life(bench, resource, example)


async def _pool_life(bench: ProviderBench, resource: Resource, example: Document) -> None:
    await bench.cluster(CLUSTER, provisioned=True)
    await bench.machine_pool(CLUSTER, NAME, example, replicas=2)
    await asyncio.sleep(QUIET)
    infra = await _read(bench, resource)
    assert FINALIZER in infra["metadata"].get("finalizers", []), "finalizer: must be set first"
    assert not InfraMachinePool(infra).provisioned, (
        "initialization completed: must wait for the bootstrap data"
    )
    await bench.pool_bootstrap(CLUSTER, NAME, b"#cloud-config\n")
    await _until(bench, resource, lambda one: InfraMachinePool(one).provisioned)
    for wanted in (2, 3, 0, 1):
        patch = {"spec": {"replicas": wanted}}
        await bench.client.patch(MachinePool.RESOURCE, key(NAME), patch)
        await asyncio.sleep(QUIET)
        pool = InfraMachinePool(await _read(bench, resource))
        ids = list(pool.provider_id_list or ())
        assert len(ids) == wanted, f"providerIDList: must have {wanted}, is {ids}"
        assert pool.replicas == wanted, f"replicas: must be {wanted}, is {pool.replicas}"
        assert pool.provisioned, "initialization completed: must not be taken back"
    await _deleted(bench, resource, NAME)


async def _machine_life(bench: ProviderBench, resource: Resource, example: Document) -> None:
    await bench.cluster(CLUSTER)
    await bench.machine(CLUSTER, NAME, example)
    await asyncio.sleep(QUIET)
    infra = await _read(bench, resource)
    assert FINALIZER in infra["metadata"].get("finalizers", []), "finalizer: must be set first"
    assert not InfraMachine(infra).provisioned, (
        "initialization completed: must wait for the cluster's infrastructure"
    )
    await bench.cluster_provisioned(CLUSTER)
    await asyncio.sleep(QUIET)
    infra = await _read(bench, resource)
    assert not InfraMachine(infra).provisioned, (
        "initialization completed: must wait for the bootstrap data"
    )
    await bench.bootstrap(CLUSTER, NAME, b"#cloud-config\n")
    infra = await _until(bench, resource, lambda one: InfraMachine(one).provisioned)
    assert InfraMachine(infra).provider_id, "provider ID: must be set once provisioned"
    await bench.client.patch(resource, key(NAME), {"metadata": {"labels": {"look": "again"}}})
    await asyncio.sleep(QUIET)
    infra = await _read(bench, resource)
    assert InfraMachine(infra).provisioned, "initialization completed: must not be taken back"
    for address in InfraMachine(infra).addresses or ():
        assert address.address, "addresses: must not be empty"
    await _deleted(bench, resource, NAME)


async def _machine_deleted_at_once(
    bench: ProviderBench, resource: Resource, example: Document
) -> None:
    await bench.cluster(CLUSTER)
    await bench.machine(CLUSTER, NAME, example)
    await asyncio.sleep(QUIET)
    await _deleted(bench, resource, NAME)


async def _machine_paused(bench: ProviderBench, resource: Resource, example: Document) -> None:
    await bench.cluster(CLUSTER, provisioned=True)
    pause: Document = {"metadata": {"annotations": {"cluster.x-k8s.io/paused": ""}}}
    paused = {**example, "metadata": {**example.get("metadata", {}), **pause["metadata"]}}
    await bench.machine(CLUSTER, NAME, paused, bootstrap_data=b"#cloud-config\n")
    await asyncio.sleep(QUIET)
    infra = await _read(bench, resource)
    assert not InfraMachine(infra).provisioned, "pausing: nothing may be made"
    told = {one["type"]: one["status"] for one in infra["status"]["conditions"]}
    assert told.get("Paused") == "True", "pausing: the Paused condition must say so"
    resume: Document = {"metadata": {"annotations": {"cluster.x-k8s.io/paused": None}}}
    await bench.client.patch(resource, key(NAME), resume)
    await _until(bench, resource, lambda one: InfraMachine(one).provisioned)


async def _cluster_life(bench: ProviderBench, resource: Resource, example: Document) -> None:
    infra = {**example, "metadata": {**example.get("metadata", {}), "name": NAME}}
    await bench.cluster(CLUSTER, infra)
    found = await _until(bench, resource, lambda one: InfraCluster(one).provisioned)
    assert FINALIZER in found["metadata"].get("finalizers", []), "finalizer: must be set first"
    first = InfraCluster(found).control_plane_endpoint
    await bench.client.patch(resource, key(NAME), {"metadata": {"labels": {"look": "again"}}})
    await asyncio.sleep(QUIET)
    found = await _read(bench, resource)
    again = InfraCluster(found).control_plane_endpoint
    assert again == first, f"control plane endpoint: must not change, was {first}, is {again}"
    assert InfraCluster(found).provisioned, "initialization completed: must not be taken back"
    await _deleted(bench, resource, NAME)


async def _read(bench: ProviderBench, resource: Resource) -> Document:
    found = await bench.get(resource, NAME)
    assert found is not None, f"{resource.kind} {NAMESPACE}/{NAME} vanished"
    return found


async def _until(
    bench: ProviderBench, resource: Resource, holds: Callable[[Document], Any]
) -> Document:
    try:
        return await bench.until(resource, NAME, holds, PATIENCE)
    except AssertionError as error:
        raise AssertionError(f"initialization completed: never reported; {error}") from None


async def _deleted(bench: ProviderBench, resource: Resource, name: str) -> None:
    await bench.client.delete(resource, key(name))
    try:
        await bench.until_gone(resource, name, PATIENCE)
    except AssertionError as error:
        raise AssertionError(f"deletion: never answered Released; {error}") from None
