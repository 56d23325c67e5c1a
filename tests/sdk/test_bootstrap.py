"""Boot data by the SDK: when it is made, where it is kept, and how it is renewed."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio

from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.client.intercept import Interceptor
from kapy.kube import Document
from kapy.kube.errors import Unreachable
from kapy.kube.http import Reply, Request, Transport
from kapy.kube.names import CONFIG_MAPS, SECRETS
from kapy.kube.pki import new_ca
from kapy.remote.secrets import certificate_secret
from kapy.sdk import (
    BootstrapContext,
    BootstrapData,
    Released,
    Waiting,
    add_bootstrap,
)
from kapy.testing.provider_bench import key, provider_bench
from tests.sdk.bootstrap_setup import (
    FINALIZER,
    RESOURCE,
    Setup,
    bootstrap_setup,
    conditions,
    initialized,
    is_made,
    machine,
    pool,
    sheet,
)
from tests.sdk.paper_bootstrap import Letterhead, PaperBoot, PaperConfig
from tests.sdk.provider_faults import life


@pytest_asyncio.fixture
async def setup() -> AsyncIterator[Setup]:
    async with bootstrap_setup() as result:
        yield result


async def test_boot_data_is_made_in_steps_that_report_their_obstacles(
    setup: Setup,
) -> None:
    bench = setup.bench
    await bench.cluster("blue")
    await machine(bench, "worker-0")
    await machine(bench, "plane-0", control_plane=True)
    await asyncio.sleep(1)
    waiting = "Waiting for the Cluster's infrastructure"
    assert conditions(await setup.config("worker-0")) == {
        "Paused": ("False", "NotPaused", ""),
        "DataSecretAvailable": ("False", "NotAvailable", waiting),
        "Ready": ("False", "NotReady", f"* DataSecretAvailable: {waiting}"),
    }
    await bench.cluster_provisioned("blue")
    await bench.until(RESOURCE, "plane-0", is_made)
    assert await sheet(bench, "plane-0") == "begin blue v1.34.0 in blue"
    waiting = "Waiting for the control plane to be initialized"
    available = conditions(await setup.config("worker-0"))["DataSecretAvailable"]
    assert available == ("False", "NotAvailable", waiting)
    await initialized(bench)
    config = await bench.until(RESOURCE, "worker-0", is_made)
    assert await sheet(bench, "worker-0") == "join blue v1.34.0 in blue"
    assert config["status"]["dataSecretName"] == "worker-0"
    assert conditions(config)["Ready"] == ("True", "Ready", "")
    assert setup.boot.asked == ["plane-0", "worker-0"]
    assert "finalizers" not in config["metadata"]


async def test_the_secret_follows_the_contract(setup: Setup) -> None:
    await setup.bench.cluster("blue", provisioned=True)
    await machine(setup.bench, "plane-0", control_plane=True)
    config = await setup.bench.until(RESOURCE, "plane-0", is_made)
    secret = await setup.bench.client.get(SECRETS, key("plane-0"))
    assert secret["type"] == "cluster.x-k8s.io/secret"
    assert secret["metadata"]["labels"] == {"cluster.x-k8s.io/cluster-name": "blue"}
    assert secret["metadata"]["ownerReferences"] == [
        {
            "apiVersion": config["apiVersion"],
            "kind": "PaperConfig",
            "name": "plane-0",
            "uid": config["metadata"]["uid"],
            "controller": True,
        }
    ]
    assert {item: b64decode(value) for item, value in secret["data"].items()} == {
        "value": b"begin blue v1.34.0 in blue",
        "format": b"cloud-config",
    }


async def test_one_machine_is_the_first_and_is_replaced_when_deleted(setup: Setup) -> None:
    bench = setup.bench
    await bench.cluster("blue", provisioned=True)
    for name in ("plane-0", "plane-1"):
        await machine(bench, name, control_plane=True)
    await bench.until(RESOURCE, "plane-0", is_made)
    await asyncio.sleep(60)
    message = conditions(await setup.config("plane-1"))["DataSecretAvailable"][2]
    assert message == "Waiting for another machine to initialize first"
    for resource in (RESOURCE, Machine.RESOURCE):
        await bench.client.delete(resource, key("plane-0"))
    await bench.until(RESOURCE, "plane-1", is_made)
    assert await sheet(bench, "plane-1") == "begin blue v1.34.0 in blue"
    await initialized(bench)
    await bench.until_gone(CONFIG_MAPS, "blue-lock")


class LostLock(Interceptor):
    """The answer to the creation of a ConfigMap is lost, once, and watches tell of it late."""

    __slots__ = ("lost",)

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport)
        self.lost = False

    async def __call__(self, request: Request) -> Reply:
        reply = await self.transport(request)
        if CONFIG_MAPS.plural not in request.path:
            return reply
        if "watch" in request.query:
            return replace(reply, body=self._late(reply.body))
        if request.method == "POST" and not self.lost:
            self.lost = True
            raise Unreachable("the answer was lost")
        return reply

    async def _late(self, events: Any) -> AsyncIterator[Document]:
        async for event in events:
            await asyncio.sleep(5)
            yield event


async def test_a_machine_learns_that_it_holds_the_lock() -> None:
    async with provider_bench([RESOURCE]) as bench:
        lost = LostLock(bench.transport)
        async with life(
            bench, lambda runtime: add_bootstrap(runtime, PaperConfig, PaperBoot()), lost
        ):
            await bench.cluster("blue", provisioned=True)
            await machine(bench, "plane-0", control_plane=True)
            await bench.until(RESOURCE, "plane-0", is_made, within=60)
        assert lost.lost


async def test_data_is_created_once_and_its_owner_reference_restored(setup: Setup) -> None:
    bench = setup.bench
    await bench.cluster("blue", provisioned=True)
    await initialized(bench)
    await machine(bench, "worker-0")
    await bench.until(RESOURCE, "worker-0", is_made)
    await bench.client.patch(RESOURCE, key("worker-0"), {"spec": {"ink": "red"}})
    lost: Document = {"metadata": {"ownerReferences": None}}
    await bench.client.patch(SECRETS, key("worker-0"), lost)
    secret = await bench.until(
        SECRETS, "worker-0", lambda document: document["metadata"].get("ownerReferences")
    )
    version = secret["metadata"]["resourceVersion"]
    config = (await setup.config("worker-0"))["metadata"]["resourceVersion"]
    await asyncio.sleep(600)
    assert (await setup.config("worker-0"))["metadata"]["resourceVersion"] == config
    secret = await bench.client.get(SECRETS, key("worker-0"))
    assert secret["metadata"]["resourceVersion"] == version
    assert await sheet(bench, "worker-0") == "join blue v1.34.0 in blue"


async def test_a_lost_status_is_restored(setup: Setup) -> None:
    """A move or a restore brings objects without their status; the Machine remembers."""
    bench = setup.bench
    await bench.cluster("blue", provisioned=True)
    await initialized(bench)
    pause: Document = {"spec": {"paused": True}}
    await bench.client.patch(Cluster.RESOURCE, key("blue"), pause)
    await machine(bench, "worker-0")
    await bench.bootstrap("blue", "worker-0", b"as it was")
    await bench.client.patch(Cluster.RESOURCE, key("blue"), {"spec": {"paused": None}})
    config = await bench.until(RESOURCE, "worker-0", is_made)
    assert config["status"]["dataSecretName"] == "worker-0"
    assert not setup.boot.asked
    assert await sheet(bench, "worker-0") == "as it was"


@pytest.mark.parametrize(
    ("stop", "go_on"),
    [
        pytest.param(
            {"cluster.x-k8s.io/paused": ""}, {"cluster.x-k8s.io/paused": None}, id="paused"
        ),
        pytest.param(
            {"cluster.x-k8s.io/managed-by": "x"},
            {"cluster.x-k8s.io/managed-by": None},
            id="managed from outside",
        ),
    ],
)
async def test_a_paused_or_foreign_config_is_left_alone(
    setup: Setup, stop: Document, go_on: Document
) -> None:
    bench = setup.bench
    await bench.cluster("blue", paused=True, provisioned=True)
    await machine(bench, "plane-0", control_plane=True)
    await asyncio.sleep(1)
    await bench.client.patch(RESOURCE, key("plane-0"), {"metadata": {"annotations": stop}})
    await bench.client.patch(Cluster.RESOURCE, key("blue"), {"spec": {"paused": None}})
    await asyncio.sleep(60)
    assert not setup.boot.asked
    await bench.client.patch(RESOURCE, key("plane-0"), {"metadata": {"annotations": go_on}})
    await bench.until(RESOURCE, "plane-0", is_made)


class Signed(PaperBoot):
    """Puts the cluster's authority on every sheet."""

    async def data(self, context: BootstrapContext[PaperConfig]) -> BootstrapData | Waiting:
        authority = await context.keys.get("ca")
        return BootstrapData(value=authority.certificate)


async def test_a_certificate_that_is_not_there_yet_is_waited_for() -> None:
    async with provider_bench([RESOURCE]) as bench:
        add_bootstrap(bench.runtime, PaperConfig, Signed())
        async with bench.running():
            await bench.cluster("blue", provisioned=True)
            await initialized(bench)
            await machine(bench, "worker-0")
            await asyncio.sleep(1)
            config = await bench.until(RESOURCE, "worker-0", conditions)
            available = conditions(config)["DataSecretAvailable"]
            waits = 'waiting for the Secret default/blue-ca with the cluster\'s certificate "ca"'
            assert available == ("False", "NotAvailable", waits)
            pair = new_ca("kubernetes", now=bench.clock(), valid=timedelta(days=9))
            await bench.client.create(SECRETS, certificate_secret(key("blue"), "ca", pair))
            await bench.until(RESOURCE, "worker-0", is_made, within=1)
            assert await sheet(bench, "worker-0") == pair.certificate.decode()


async def test_data_of_a_pool_may_change_and_data_of_a_machine_never() -> None:
    async with provider_bench([RESOURCE]) as bench:
        letters = Letterhead(bench.clock)
        add_bootstrap(bench.runtime, RESOURCE, letters, finalizer=FINALIZER)
        async with bench.running():
            await bench.cluster("blue", provisioned=True)
            await pool(bench)
            await bench.until(RESOURCE, "pool", is_made)
            sheets = set()
            for _ in range(15):
                sheets.add(await sheet(bench, "pool"))
                await asyncio.sleep(10)
            assert len(sheets) == 3
            secret = await bench.client.get(SECRETS, key("pool"))
            assert b64decode(secret["data"]["format"]) == b"letter"
            await bench.client.delete(SECRETS, key("pool"))
            await bench.until(SECRETS, "pool", lambda document: document["data"], within=1)
            await machine(bench, "worker-0")
            await bench.until(RESOURCE, "worker-0", is_made)
            first = await sheet(bench, "worker-0")
            await asyncio.sleep(200)
            assert await sheet(bench, "worker-0") == first
            assert letters.drawer == {"pool", "worker-0"}
            for name in ("pool", "worker-0"):
                await bench.client.delete(RESOURCE, key(name))
                await bench.until_gone(RESOURCE, name)
            assert not letters.drawer


class Keeping(Letterhead):
    async def reconcile_delete(self, context: BootstrapContext[Document]) -> Released | Waiting:
        if context.owner is None or context.owner.spec.paused:
            raise AssertionError("a paused cluster's provider was asked")
        return await super().reconcile_delete(context)


async def test_deletion_waits_while_paused_and_needs_no_data() -> None:
    async with provider_bench([RESOURCE]) as bench:
        add_bootstrap(bench.runtime, RESOURCE, Keeping(bench.clock), finalizer=FINALIZER)
        async with bench.running():
            await bench.cluster("blue")
            await machine(bench, "worker-0")
            await asyncio.sleep(1)
            await bench.client.patch(Cluster.RESOURCE, key("blue"), {"spec": {"paused": True}})
            await bench.client.delete(RESOURCE, key("worker-0"))
            await asyncio.sleep(30)
            assert await bench.get(RESOURCE, "worker-0") is not None
            await bench.client.patch(Cluster.RESOURCE, key("blue"), {"spec": {"paused": None}})
            await bench.until_gone(RESOURCE, "worker-0", within=1)
