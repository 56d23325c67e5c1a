"""The guarantees of the SDK for a provider of IP addresses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

import pytest
import pytest_asyncio

from kapy.api.cluster import Cluster
from kapy.api.ip_address import IPAddress, IPAddressClaim
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError, Unreachable
from kapy.kube.http import Reply, Request
from kapy.kube.names import EVENTS
from kapy.sdk import AddressClaimContext, Allocated, Exhausted, Released, Waiting, add_ipam
from kapy.testing.provider_bench import ProviderBench, key, provider_bench
from tests.sdk.range_pool import GROUP, GlobalRangePool, RangePool, Ranges

CLAIMS, ADDRESSES = IPAddressClaim.RESOURCE, IPAddress.RESOURCE
POOLS, GLOBAL_POOLS = RangePool.RESOURCE, GlobalRangePool.RESOURCE


class Watched(Ranges):
    """A provider that records its calls. fails: an error that it raises instead of an answer."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.freed: list[str] = []
        self.keeps: str = ""
        self.fails: Exception | None = None
        self.answer: Allocated | None = None

    async def allocate(self, context: AddressClaimContext[RangePool]) -> Allocated | Exhausted:
        self.asked.append(context.key.name)
        if self.fails is not None:
            raise self.fails
        answer = self.answer or await super().allocate(context)
        await asyncio.sleep(0.01)  # others get their turn
        return answer

    async def free(self, context: AddressClaimContext[RangePool]) -> Released | Waiting:  # type: ignore[override]
        if self.keeps:
            return Waiting(message=self.keeps)
        self.freed.append(str(context.allocated.address) if context.allocated else "nothing")
        return Released()


class Flaky:
    """A way to the server on which answers to creations of addresses get lost."""

    def __init__(self, transport: Any) -> None:
        self._transport = transport
        self.lost = 0

    async def __call__(self, request: Request) -> Reply:
        reply: Reply = await self._transport(request)
        if self.lost and request.method == "POST" and request.path.endswith("/ipaddresses"):
            self.lost -= 1
            raise Unreachable("the answer was lost")
        return reply


@dataclass
class Setup:
    bench: ProviderBench
    ranges: Watched
    flaky: Flaky

    async def pool(self, last: str = "10.0.0.9", *, everywhere: bool = False) -> None:
        resource = GLOBAL_POOLS if everywhere else POOLS
        spec = {"first": "10.0.0.1", "last": last, "gateway": "10.0.0.1"}
        document = named(resource.kind, resource.api_version, "pool", spec=spec)
        if everywhere:
            del document["metadata"]["namespace"]
        await self.bench.client.create(resource, document)

    async def claim(self, name: str, kind: str = "RangePool", cluster: str = "") -> None:
        spec: Document = {"poolRef": {"apiGroup": GROUP, "kind": kind, "name": "pool"}}
        if cluster:
            spec["clusterName"] = cluster
        document = named("IPAddressClaim", CLAIMS.api_version, name, spec=spec)
        await self.bench.client.create(CLAIMS, document)

    async def ready(self, name: str) -> tuple[str, str, str]:
        claim = await self.bench.get(CLAIMS, name)
        assert claim is not None
        (result,) = [
            condition for condition in claim["status"]["conditions"] if condition["type"] == "Ready"
        ]
        return result["status"], result["reason"], result["message"]

    async def addresses(self) -> dict[str, str]:
        listed = await self.bench.client.list(ADDRESSES)
        return {
            document["metadata"]["name"]: document["spec"]["address"] for document in listed.items
        }


def named(kind: str, api_version: str, name: str, **parts: Document) -> Document:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **parts}


@pytest_asyncio.fixture
async def setup() -> AsyncIterator[Setup]:
    async with provider_bench([POOLS, GLOBAL_POOLS, CLAIMS, ADDRESSES]) as bench:
        ranges = Watched()
        flaky = Flaky(bench.runtime.client.transport)
        bench.runtime.client.transport = flaky
        for kind in (RangePool, GlobalRangePool):
            add_ipam(bench.runtime, kind, ranges)
        async with bench.running():
            yield Setup(bench, ranges, flaky)


async def test_a_claim_gets_an_address(setup: Setup) -> None:
    await setup.bench.cluster("blue")
    await setup.pool()
    await setup.claim("vm-0", cluster="blue")
    await asyncio.sleep(1)
    claim = await setup.bench.get(CLAIMS, "vm-0")
    address = await setup.bench.get(ADDRESSES, "vm-0")
    pool = await setup.bench.get(POOLS, "pool")
    assert claim is not None
    assert address is not None
    assert pool is not None
    assert claim["status"]["addressRef"] == {"name": "vm-0"}
    assert claim["metadata"]["finalizers"] == ["ipam.cluster.x-k8s.io/ReleaseAddress"]
    assert await setup.ready("vm-0") == ("True", "Ready", "")
    (old,) = claim["status"]["deprecated"]["v1beta1"]["conditions"]
    assert (old["type"], old["status"]) == ("Ready", "True")
    assert address["spec"] == {
        "claimRef": {"name": "vm-0"},
        "poolRef": {"apiGroup": GROUP, "kind": "RangePool", "name": "pool"},
        "address": "10.0.0.2",
        "prefix": 24,
        "gateway": "10.0.0.1",
    }
    metadata = address["metadata"]
    assert metadata["finalizers"] == ["ipam.cluster.x-k8s.io/ProtectAddress"]
    assert metadata["labels"] == {"cluster.x-k8s.io/cluster-name": "blue"}
    owners = {reference["kind"]: reference for reference in metadata["ownerReferences"]}
    assert owners["IPAddressClaim"]["controller"] is True
    assert owners["RangePool"].get("controller", False) is False
    assert {owner["blockOwnerDeletion"] for owner in owners.values()} == {True}
    assert pool["metadata"]["finalizers"] == ["ipam.cluster.x-k8s.io/ProtectPool"]
    entries = {
        condition["type"]: condition["message"] for condition in pool["status"]["conditions"]
    }
    assert entries["InRange"] == "1 of 8 are taken"


async def test_many_claims_at_once_get_different_addresses(setup: Setup) -> None:
    await setup.pool()
    await asyncio.gather(*(setup.claim(f"vm-{number}") for number in range(8)))
    await asyncio.sleep(5)
    addresses = await setup.addresses()
    assert len(addresses) == len(set(addresses.values())) == 8


async def test_a_lost_answer_takes_no_second_address(setup: Setup) -> None:
    await setup.pool()
    setup.flaky.lost = 2
    await setup.claim("vm-0")
    await setup.claim("vm-1")
    await asyncio.sleep(5)
    assert await setup.addresses() == {"vm-0": "10.0.0.2", "vm-1": "10.0.0.3"}
    assert setup.ranges.asked.count("vm-0") == 1


async def test_a_claim_on_an_empty_pool_gets_the_next_released_address(setup: Setup) -> None:
    await setup.pool(last="10.0.0.2")
    await setup.claim("vm-0")
    await asyncio.sleep(1)
    await setup.claim("vm-1")
    await asyncio.sleep(1)
    message = "all addresses from 10.0.0.1 to 10.0.0.2 are taken"
    assert await setup.ready("vm-1") == ("False", "PoolExhausted", message)
    await setup.bench.client.delete(CLAIMS, key("vm-0"))
    await asyncio.sleep(1)
    assert await setup.addresses() == {"vm-1": "10.0.0.2"}
    assert setup.ranges.freed == ["10.0.0.2"]
    assert await setup.bench.get(CLAIMS, "vm-0") is None


async def test_a_pool_that_comes_late_is_noticed(setup: Setup) -> None:
    await setup.claim("vm-0")
    await asyncio.sleep(1)
    assert await setup.ready("vm-0") == (
        "False",
        "PoolNotReady",
        "RangePool default/pool not found",
    )
    await setup.pool()
    await asyncio.sleep(1)
    assert await setup.addresses() == {"vm-0": "10.0.0.2"}


async def test_a_pool_is_kept_while_it_is_in_use_and_gives_out_no_more(setup: Setup) -> None:
    await setup.pool()
    await setup.claim("vm-0")
    await asyncio.sleep(1)
    await setup.bench.client.delete(POOLS, key("pool"))
    await setup.claim("vm-1")
    await asyncio.sleep(1)
    message = "RangePool default/pool is being deleted"
    assert await setup.ready("vm-1") == ("False", "PoolNotReady", message)
    assert await setup.bench.get(POOLS, "pool") is not None
    await setup.bench.client.delete(CLAIMS, key("vm-0"))
    await setup.bench.until_gone(POOLS, "pool", within=5)


async def test_pools_of_the_whole_cluster_serve_every_namespace(setup: Setup) -> None:
    await setup.pool(last="10.0.0.2", everywhere=True)
    await setup.claim("vm-0", "GlobalRangePool")
    await asyncio.sleep(1)
    assert await setup.addresses() == {"vm-0": "10.0.0.2"}
    global_pool = await setup.bench.client.get(GLOBAL_POOLS, Key("", "pool"))
    assert global_pool["metadata"]["finalizers"] == ["ipam.cluster.x-k8s.io/ProtectPool"]


@pytest.mark.parametrize(
    "pause",
    [{"spec": {"paused": True}}, {"metadata": {"annotations": {"cluster.x-k8s.io/paused": ""}}}],
    ids=["spec", "annotation"],
)
async def test_a_paused_cluster_gets_and_gives_back_nothing(setup: Setup, pause: Document) -> None:
    await setup.bench.cluster("blue")
    await setup.pool()
    await setup.claim("vm-0", cluster="blue")
    await asyncio.sleep(1)
    await setup.bench.client.patch(Cluster.RESOURCE, key("blue"), pause)
    await setup.claim("vm-1", cluster="blue")
    await setup.bench.client.delete(CLAIMS, key("vm-0"))
    await asyncio.sleep(5)
    assert await setup.addresses() == {"vm-0": "10.0.0.2"}
    resume: Document = {"spec": {"paused": None}, "metadata": {"annotations": None}}
    await setup.bench.client.patch(Cluster.RESOURCE, key("blue"), resume)
    await setup.bench.until_gone(CLAIMS, "vm-0", within=5)
    assert list(await setup.addresses()) == ["vm-1"]


async def test_claims_of_others_and_of_clusters_that_are_not_there_wait(setup: Setup) -> None:
    await setup.pool()
    await setup.claim("vm-0", "ForeignPool")
    await setup.claim("vm-1", cluster="blue")
    await asyncio.sleep(5)
    for name in ("vm-0", "vm-1"):
        claim = await setup.bench.get(CLAIMS, name)
        assert claim is not None
        assert "finalizers" not in claim["metadata"]
    await setup.bench.cluster("blue")
    await asyncio.sleep(1)
    assert await setup.addresses() == {"vm-1": "10.0.0.2"}


async def test_finalizers_and_owner_references_are_restored(setup: Setup) -> None:
    await setup.pool()
    await setup.claim("vm-0")
    await asyncio.sleep(1)
    stripped: Document = {"metadata": {"finalizers": None, "ownerReferences": None}}
    await setup.bench.client.patch(ADDRESSES, key("vm-0"), stripped)
    await asyncio.sleep(1)
    address = await setup.bench.get(ADDRESSES, "vm-0")
    assert address is not None
    assert address["metadata"]["finalizers"] == ["ipam.cluster.x-k8s.io/ProtectAddress"]
    assert len(address["metadata"]["ownerReferences"]) == 2


async def test_an_address_that_cannot_be_released_stays_allocated(setup: Setup) -> None:
    await setup.pool()
    await setup.claim("vm-0")
    await asyncio.sleep(1)
    setup.ranges.keeps = "the switch does not answer"
    await setup.bench.client.delete(CLAIMS, key("vm-0"))
    await asyncio.sleep(5)
    assert await setup.ready("vm-0") == ("False", "Deleting", "the switch does not answer")
    assert await setup.addresses() == {"vm-0": "10.0.0.2"}
    setup.ranges.keeps = ""
    await setup.bench.until_gone(CLAIMS, "vm-0", within=60)


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (LookupError("token-123"), "Please check controller logs for errors"),
        (KapyError("the switch refused"), "KapyError: the switch refused"),
    ],
)
async def test_a_failure_is_reported_and_retried(
    setup: Setup, mistake: Exception, message: str
) -> None:
    await setup.pool()
    setup.ranges.fails = mistake
    await setup.claim("vm-0")
    await asyncio.sleep(1)
    assert await setup.ready("vm-0") == ("Unknown", "InternalError", message)
    events = await setup.bench.client.list(EVENTS)
    assert "token" not in str(events.items)
    assert setup.ranges.asked.count("vm-0") > 2
    setup.ranges.fails = None
    await asyncio.sleep(10)
    assert await setup.ready("vm-0") == ("True", "Ready", "")


async def test_an_address_that_is_taken_is_not_given_out_again(setup: Setup) -> None:
    await setup.pool()
    await setup.claim("vm-0")
    await asyncio.sleep(1)
    setup.ranges.answer = Allocated(address=ip_address("10.0.0.2"), prefix=24)
    await setup.claim("vm-1")
    await asyncio.sleep(1)
    status, _, message = await setup.ready("vm-1")
    assert status == "Unknown"
    assert "must not be given out twice: 10.0.0.2 is that of default/vm-0" in message
