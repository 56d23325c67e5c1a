"""A member joins the load balancer before it counts, and leaves it before it goes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from kapy.api.machine import Machine
from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.sdk import (
    ClusterContext,
    Endpoint,
    MachineContext,
    Provisioned,
    Released,
    Waiting,
    add_infra_cluster,
    add_infra_machine,
)
from kapy.sdk.load_balancer import ControlPlaneLoadBalancer, Member
from kapy.testing.provider_bench import ProviderBench, key, provider_bench
from tests.sdk.paper_cloud import (
    CLUSTER,
    MACHINE,
    PAPER_CLUSTERS,
    PaperCloud,
    PaperLand,
    PaperMachine,
)

FINALIZER = "paper.example.dev/check"
MACHINES = PaperMachine.RESOURCE


@dataclass
class Diary:
    """The recorded events, in order. crashes: entries that raise an error, once each."""

    entries: list[str] = field(default_factory=list)
    crashes: set[str] = field(default_factory=set)

    def note(self, entry: str) -> None:
        self.entries.append(entry)
        if entry in self.crashes:
            self.crashes.remove(entry)
            raise KapyError("the process ends here")

    @property
    def once(self) -> list[str]:
        return list(dict.fromkeys(self.entries))


class Balancer(ControlPlaneLoadBalancer[Document]):
    def __init__(self, diary: Diary) -> None:
        self.diary = diary
        self.members: dict[str, Member] = {}
        self.looks = 0
        self.draining = False
        self.drained: set[str] = set()

    async def endpoint(self, context: ClusterContext[Document]) -> Endpoint | Waiting:
        self.looks += 1
        if self.looks < 3:
            return Waiting(message="the load balancer starts")
        return context.endpoint or Endpoint("lb.paper", 6443)

    async def register(self, member: Member) -> None:
        self.members[member.key.name] = member
        self.diary.note(f"{member.key.name} joined")

    async def drain(self, member: Member) -> None:
        self.drained.add(member.key.name)

    async def deregister(self, member: Member) -> Waiting | None:
        if self.draining:
            return Waiting(message="connections drain")
        self.members.pop(member.key.name, None)
        self.diary.note(f"{member.key.name} left")
        return None


class Cloud(PaperCloud):
    def __init__(self, diary: Diary) -> None:
        super().__init__()
        self.diary = diary

    async def reconcile_normal(
        self, context: MachineContext[PaperMachine]
    ) -> Provisioned | Waiting:
        answer = await super().reconcile_normal(context)
        if isinstance(answer, Provisioned):
            self.diary.note(f"{context.key.name} runs")
        return answer

    async def reconcile_delete(self, context: MachineContext[PaperMachine]) -> Released | Waiting:
        self.diary.note(f"{context.key.name} goes")
        return await super().reconcile_delete(context)


@dataclass
class Setup:
    bench: ProviderBench
    balancer: Balancer
    diary: Diary

    async def machine(self, name: str) -> Document:
        document = await self.bench.get(MACHINES, name)
        assert document is not None
        return document

    async def ready(self, name: str) -> str:
        conditions = (await self.machine(name))["status"]["conditions"]
        return next(
            str(condition["message"]) for condition in conditions if condition["type"] == "Ready"
        )


@asynccontextmanager
async def playing(*crashes: str) -> AsyncIterator[Setup]:
    diary = Diary(crashes=set(crashes))
    balancer = Balancer(diary)
    async with provider_bench([PAPER_CLUSTERS, MACHINES]) as bench:
        add_infra_cluster(
            bench.runtime,
            PAPER_CLUSTERS,
            PaperLand(),
            finalizer=FINALIZER,
            load_balancer=balancer,
        )
        add_infra_machine(
            bench.runtime, PaperMachine, Cloud(diary), finalizer=FINALIZER, load_balancer=balancer
        )
        async with bench.running():
            infra = {**CLUSTER, "metadata": {"name": "blue"}}
            await bench.cluster("blue", infra, provisioned=True)
            yield Setup(bench, balancer, diary)


async def test_the_endpoint_is_the_load_balancers() -> None:
    async with playing() as setup:
        await asyncio.sleep(1)
        infra = await setup.bench.get(PAPER_CLUSTERS, "blue")
        assert infra is not None
        assert "controlPlaneEndpoint" not in infra["spec"]
        (result,) = [
            condition for condition in infra["status"]["conditions"] if condition["type"] == "Ready"
        ]
        assert (result["status"], result["message"]) == ("False", "the load balancer starts")
        await asyncio.sleep(60)
        infra = await setup.bench.get(PAPER_CLUSTERS, "blue")
        assert infra is not None
        assert infra["spec"]["controlPlaneEndpoint"] == {"host": "lb.paper", "port": 6443}
        assert infra["status"]["initialization"]["provisioned"] is True
        result = {
            condition["type"]: condition["status"] for condition in infra["status"]["conditions"]
        }
        assert result == {"Ready": "True", "Paused": "False"}


@pytest.mark.parametrize("crash", ["", "cp-0 runs", "cp-0 joined", "cp-0 left", "cp-0 goes"])
async def test_a_member_joins_and_leaves_in_order_despite_crashes(crash: str) -> None:
    async with playing(crash) as setup:
        bench = setup.bench
        await bench.machine("blue", "cp-0", MACHINE, control_plane=True, bootstrap_data=b"x")
        await asyncio.sleep(60)
        assert (await setup.machine("cp-0"))["status"]["initialization"]["provisioned"] is True
        member = setup.balancer.members["cp-0"]
        assert (member.provider_id, member.cluster) == ("paper://cp-0", key("blue"))
        assert [address.address for address in member.addresses] == ["10.0.0.4"]
        await bench.client.delete(MACHINES, key("cp-0"))
        await bench.until_gone(MACHINES, "cp-0")
        assert setup.diary.once == ["cp-0 runs", "cp-0 joined", "cp-0 left", "cp-0 goes"]
        assert not setup.balancer.members


async def test_workers_are_no_members() -> None:
    async with playing() as setup:
        await setup.bench.machine("blue", "worker-0", MACHINE, bootstrap_data=b"x")
        await asyncio.sleep(60)
        await setup.bench.client.delete(MACHINES, key("worker-0"))
        await setup.bench.until_gone(MACHINES, "worker-0")
        assert setup.diary.once == ["worker-0 runs", "worker-0 goes"]


async def test_a_machine_waits_for_its_connections_and_leaves_without_its_machine() -> None:
    async with playing() as setup:
        bench = setup.bench
        await bench.machine("blue", "cp-0", MACHINE, control_plane=True, bootstrap_data=b"x")
        await asyncio.sleep(60)
        setup.balancer.draining = True
        await bench.client.delete(Machine.RESOURCE, key("cp-0"))
        await bench.client.delete(MACHINES, key("cp-0"))
        await asyncio.sleep(60)
        assert await setup.ready("cp-0") == "connections drain"
        assert "cp-0 goes" not in setup.diary.entries
        setup.balancer.draining = False
        await bench.until_gone(MACHINES, "cp-0")
        assert setup.diary.once[-2:] == ["cp-0 left", "cp-0 goes"]


async def test_a_machine_is_drained_from_the_moment_when_its_machine_is_deleted() -> None:
    async with playing() as setup:
        bench = setup.bench
        await bench.machine("blue", "cp-0", MACHINE, control_plane=True, bootstrap_data=b"x")
        await asyncio.sleep(60)
        hold = {"metadata": {"finalizers": ["core.example.dev/drains-the-node"]}}
        await bench.client.patch(Machine.RESOURCE, key("cp-0"), hold)
        assert not setup.balancer.drained
        await bench.client.delete(Machine.RESOURCE, key("cp-0"))
        await asyncio.sleep(1)
        assert setup.balancer.drained == {"cp-0"}
        assert "cp-0" in setup.balancer.members
        joined = setup.diary.entries.count("cp-0 joined")
        await bench.client.patch(MACHINES, key("cp-0"), {"metadata": {"labels": {"a": "b"}}})
        await asyncio.sleep(60)
        assert setup.diary.entries.count("cp-0 joined") == joined
