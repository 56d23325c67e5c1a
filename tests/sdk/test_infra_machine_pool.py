"""The guarantees of the SDK for a provider of machine pools."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import ClassVar

import pytest
import pytest_asyncio

from kapy.api.machine_pool import MachinePool
from kapy.api.names import Annotation, Label
from kapy.client.intercept import Interceptor
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.errors import Unreachable
from kapy.kube.http import Reply, Request, Transport
from kapy.kube.meta import read
from kapy.kube.names import EVENTS, Resource
from kapy.sdk import (
    DONE,
    Controller,
    InfraMachinePoolProvider,
    MachinePoolContext,
    PoolMachines,
    PoolProvisioned,
    Released,
    Result,
    Waiting,
    add_infra_machine_pool,
)
from kapy.testing.conformance.behaviour import check_infra_machine_pool
from kapy.testing.provider_bench import ProviderBench, key, provider_bench

CORE = "cluster.x-k8s.io/v1beta2"
GROUP = "infrastructure.cluster.x-k8s.io"
POOLS = Resource(GROUP, "v1", "papermachinepools", "PaperMachinePool")
SHEETS = Resource(GROUP, "v1", "papersheets", "PaperSheet")
POOL: Document = {"apiVersion": f"{GROUP}/v1", "kind": "PaperMachinePool", "spec": {}}
FINALIZER = "paper.example.dev/pool"


@dataclass
class PaperPad(InfraMachinePoolProvider[Document]):
    """Machines without objects, as a cloud's own node groups have. Each look tears off a sheet."""

    machine_kind: ClassVar[str] = ""
    sheets: dict[str, int] = field(default_factory=dict)
    orders: list[MachinePoolContext[Document]] = field(default_factory=list)

    async def reconcile_normal(
        self, context: MachinePoolContext[Document]
    ) -> PoolProvisioned | Waiting:
        self.orders.append(context)
        name = context.key.name
        self.sheets[name] = context.replicas
        return PoolProvisioned(provider_ids=self.ids(name), provider_id=f"paper://{name}")

    def ids(self, name: str) -> list[str]:
        return [f"paper://{name}/{sheet}" for sheet in range(self.sheets[name])]

    async def reconcile_delete(self, context: MachinePoolContext[Document]) -> Released | Waiting:
        self.sheets.pop(context.key.name, None)
        return Released()


class Copier(PaperPad):
    """All of its machines have one ID."""

    def ids(self, name: str) -> list[str]:
        return ["paper://1"] * self.sheets[name]


class Stubborn(PaperPad):
    """Never has another number of machines than the first one."""

    async def reconcile_normal(
        self, context: MachinePoolContext[Document]
    ) -> PoolProvisioned | Waiting:
        self.sheets.setdefault(context.key.name, context.replicas)
        return PoolProvisioned(provider_ids=self.ids(context.key.name))


@dataclass
class Setup:
    bench: ProviderBench
    pad: PaperPad

    async def pool(self) -> Document:
        document = await self.bench.get(POOLS, "mp")
        assert document is not None
        return document

    def ready(self, infra: Document) -> tuple[str, str]:
        listed = infra["status"]["conditions"]
        return next((item["status"], item["reason"]) for item in listed if item["type"] == "Ready")


@pytest_asyncio.fixture
async def setup() -> AsyncIterator[Setup]:
    async with provider_bench([POOLS]) as bench:
        pad = PaperPad()
        add_infra_machine_pool(bench.runtime, POOLS, pad, finalizer=FINALIZER)
        async with bench.running():
            yield Setup(bench, pad)


async def test_a_good_provider_conforms() -> None:
    await check_infra_machine_pool(POOLS, POOL, lambda _: PaperPad())


@pytest.mark.parametrize(
    ("provider", "rule"),
    [
        pytest.param(Copier, "infra-machinepool/provider-ids", id="IDs used twice"),
        pytest.param(Stubborn, "provider-ids: .* replicas are wanted", id="does not scale"),
    ],
)
async def test_an_invalid_provider_is_refused_with_the_rule(
    provider: type[PaperPad], rule: str
) -> None:
    with pytest.raises(AssertionError, match=rule):
        await check_infra_machine_pool(POOLS, POOL, lambda _: provider())


async def test_a_pool_reports_its_obstacles_and_its_machines(setup: Setup) -> None:
    bench = setup.bench
    await bench.cluster("blue")
    await bench.machine_pool("blue", "mp", POOL, replicas=2, failureDomains=["a"])
    await asyncio.sleep(1)
    infra = await setup.pool()
    assert setup.ready(infra) == ("False", "WaitingForClusterInfrastructureReady")
    await bench.cluster_provisioned("blue")
    await asyncio.sleep(1)
    infra = await setup.pool()
    assert setup.ready(infra) == ("False", "WaitingForControlPlaneInitialized")
    assert not setup.pad.orders
    await bench.pool_bootstrap("blue", "mp", b"#!/bin/sh")
    await asyncio.sleep(1)
    infra = await setup.pool()
    assert setup.ready(infra) == ("True", "Ready")
    ids = ["paper://mp/0", "paper://mp/1"]
    assert infra["spec"] == {"providerID": "paper://mp", "providerIDList": ids}
    status = {name: value for name, value in infra["status"].items() if name != "conditions"}
    assert status == {"initialization": {"provisioned": True}, "ready": True, "replicas": 2}
    context = setup.pad.orders[-1]
    assert (context.version, context.replicas, context.failure_domains) == ("v1.34.0", 2, ("a",))
    assert context.bootstrap_data == b"#!/bin/sh"
    assert not context.scaled_by_others
    patch = {"metadata": {"annotations": {Annotation.REPLICAS_MANAGED_BY: "karpenter"}}}
    await bench.client.patch(MachinePool.RESOURCE, key("mp"), patch)
    await bench.client.patch(MachinePool.RESOURCE, key("mp"), {"spec": {"replicas": 0}})
    await asyncio.sleep(1)
    infra = await setup.pool()
    assert (infra["status"]["replicas"], infra["spec"].get("providerIDList")) == (0, None)
    assert setup.pad.orders[-1].scaled_by_others


async def test_answers_that_are_lost_make_no_second_machine() -> None:
    async with provider_bench([POOLS, SHEETS]) as bench:
        bench.runtime.client.observe = None  # nothing of what is written is ever known
        machines = PoolMachines(bench.runtime, SHEETS, POOLS)
        await bench.cluster("blue")
        pool = read(await bench.machine_pool("blue", "mp", POOL), MachinePool)
        infra = await bench.client.get(POOLS, key("mp"))
        context: MachinePoolContext[Document] = MachinePoolContext(
            key=key("mp"), uid="u", object=infra, cluster=key("blue"), pool=pool, replicas=3
        )
        for _ in range(2):
            await machines.ensure(context, lambda: {"spec": {"ruled": True}}, lambda _: True)
        entries = (await bench.client.list(SHEETS, "default")).items
        assert len(entries) == 3
        for document in entries:
            assert document["spec"] == {"ruled": True}
            assert document["metadata"]["labels"] == {
                Label.CLUSTER_NAME: "blue",
                Label.POOL_NAME: "mp",
            }
            assert [owner["name"] for owner in document["metadata"]["ownerReferences"]] == ["mp"]


class Losing(Interceptor):
    """Every other write is done and not answered."""

    __slots__ = ("writes",)

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport)
        self.writes = 0

    async def __call__(self, request: Request) -> Reply:
        reply = await self.transport(request)
        self.writes += 1
        if self.writes % 2:
            raise Unreachable("the answer was lost")
        return reply


async def test_a_changed_pool_makes_no_second_machine_after_lost_answers() -> None:
    async with provider_bench([POOLS, SHEETS]) as bench:
        losing = Losing(bench.transport)
        machines = PoolMachines(Runtime.on(losing, clock=bench.clock), SHEETS, POOLS)
        await bench.cluster("blue")
        pool = read(await bench.machine_pool("blue", "mp", POOL), MachinePool)
        for look in range(5):
            infra = await bench.client.patch(POOLS, key("mp"), {"spec": {"look": look}})
            context: MachinePoolContext[Document] = MachinePoolContext(
                key=key("mp"), uid="u", object=infra, cluster=key("blue"), pool=pool, replicas=3
            )
            with suppress(Unreachable):
                await machines.ensure(context, dict, lambda _: True)
        assert losing.writes == 6
        assert len((await bench.client.list(SHEETS, "default")).items) == 3


async def test_infrastructure_machines_without_a_machine_are_released_too() -> None:
    async with provider_bench([POOLS, SHEETS]) as bench:
        machines = PoolMachines(bench.runtime, SHEETS, POOLS)
        async with bench.running():
            await bench.cluster("blue")
            pool = read(await bench.machine_pool("blue", "mp", POOL), MachinePool)
            infra = await bench.client.get(POOLS, key("mp"))
            context: MachinePoolContext[Document] = MachinePoolContext(
                key=key("mp"), uid="u", object=infra, cluster=key("blue"), pool=pool, replicas=2
            )
            entries = await machines.ensure(context, dict, lambda _: True)
            assert len(entries) == 2
            assert await machines.delete(context) == Released()
            assert not (await bench.client.list(SHEETS, "default")).items


async def test_the_deletion_of_an_owned_machine_wakes_its_pool() -> None:
    looks: list[Key] = []

    async def look(of: Key) -> Result:
        looks.append(of)
        return DONE

    async with provider_bench([POOLS, SHEETS]) as bench:
        machines = PoolMachines(bench.runtime, SHEETS, POOLS)
        controller = Controller("pads", look)
        machines.wake(controller)
        bench.runtime.add(controller)
        async with bench.running():
            await bench.cluster("blue")
            pool = read(await bench.machine_pool("blue", "mp", POOL), MachinePool)
            await bench.machine_pool("blue", "other", POOL)
            infra = await bench.client.get(POOLS, key("mp"))
            context: MachinePoolContext[Document] = MachinePoolContext(
                key=key("mp"), uid="u", object=infra, cluster=key("blue"), pool=pool
            )
            (document,) = await machines.ensure(context, dict, lambda _: True)
            owner = {"apiVersion": CORE, "kind": "Machine", "name": "m", "uid": "m"}
            patch = {"metadata": {"ownerReferences": [owner]}}  # as core does it
            await bench.client.patch(SHEETS, Key.of(document), patch)
            await asyncio.sleep(5)
            looks.clear()
            await bench.client.delete(SHEETS, Key.of(document))
            await asyncio.sleep(5)
            assert looks == [key("mp")]


async def test_a_mistake_of_the_provider_is_an_event() -> None:
    async with provider_bench([POOLS]) as bench:
        add_infra_machine_pool(bench.runtime, POOLS, Copier(), finalizer=FINALIZER)
        async with bench.running():
            await bench.cluster("blue", provisioned=True)
            await bench.machine_pool("blue", "mp", POOL, replicas=2)
            await bench.pool_bootstrap("blue", "mp", b"x")
            await asyncio.sleep(5)
            (event,) = (await bench.client.list(EVENTS, "default")).items
            assert event["reason"] == "FailedConverge"
            twice = "each machine has a provider ID of its own; twice: ['paper://1']"
            assert twice in event["message"]


async def test_a_paused_pool_is_not_touched_not_even_to_delete_it(setup: Setup) -> None:
    bench = setup.bench
    await bench.cluster("blue", provisioned=True)
    await bench.machine_pool("blue", "mp", POOL)
    await bench.pool_bootstrap("blue", "mp", b"x")
    await bench.until(POOLS, "mp", lambda pool: pool.get("status", {}).get("ready"))
    pause = {"metadata": {"annotations": {Annotation.PAUSED: ""}}}
    await bench.client.patch(POOLS, key("mp"), pause)
    await asyncio.sleep(1)
    await bench.client.delete(POOLS, key("mp"))
    await asyncio.sleep(30)
    listed = (await setup.pool())["status"]["conditions"]
    assert [item["status"] for item in listed if item["type"] == "Paused"] == ["True"]
    assert setup.pad.sheets
    resume = {"metadata": {"annotations": {Annotation.PAUSED: None}}}
    await bench.client.patch(POOLS, key("mp"), resume)
    await bench.until_gone(POOLS, "mp")
    assert not setup.pad.sheets
