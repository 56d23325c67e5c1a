"""What the SDK promises a provider of boot data."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
import pytest_asyncio

from kapy.api.cluster import Cluster
from kapy.api.condition import Condition, V1Beta1Condition
from kapy.api.machine import Machine
from kapy.api.machine_pool import MachinePool
from kapy.api.names import Label
from kapy.client.intercept import Interceptor
from kapy.engine.runtime import Runtime
from kapy.kube import Document
from kapy.kube.errors import KapyError, Unreachable
from kapy.kube.http import Reply, Request, Transport
from kapy.kube.names import CONFIG_MAPS, EVENTS, SECRETS
from kapy.kube.pki import new_ca
from kapy.remote.secrets import certificate_secret
from kapy.sdk import (
    BootstrapContext,
    BootstrapData,
    BootstrapProvider,
    Released,
    Unchanged,
    Waiting,
    add_bootstrap,
    in_v1beta1,
)
from kapy.sdk.failures import ProviderMistake
from kapy.testing.fake_core import reference
from kapy.testing.faults import Faults
from kapy.testing.provider_bench import ProviderBench, key, provider_bench
from tests.sdk.bad_days import life, short_lives
from tests.sdk.paper_bootstrap import CONFIG, Letterhead, PaperBoot, PaperConfig

RESOURCE = PaperConfig.RESOURCE
FINALIZER = "paper.example.dev/letterhead"


@dataclass
class Scene:
    bench: ProviderBench
    boot: PaperBoot

    async def config(self, name: str) -> Document:
        found = await self.bench.get(RESOURCE, name)
        assert found is not None
        return found


@pytest_asyncio.fixture
async def scene() -> AsyncIterator[Scene]:
    async with provider_bench([RESOURCE]) as bench:
        boot = PaperBoot()
        add_bootstrap(bench.runtime, PaperConfig, boot)
        async with bench.running():
            yield Scene(bench, boot)


async def machine(bench: ProviderBench, name: str, *, control_plane: bool = False) -> Document:
    """A Machine of the cluster blue with its configuration, as core and users make them."""
    config = {**CONFIG, "metadata": {"name": name}}
    labels = {Label.CLUSTER_NAME: "blue"} | ({Label.CONTROL_PLANE: ""} if control_plane else {})
    spec = {
        "clusterName": "blue",
        "version": "v1.34.0",
        "bootstrap": {"configRef": reference(config)},
        "infrastructureRef": {"apiGroup": "example.dev", "kind": "Anything", "name": name},
    }
    owner = await bench.client.create(
        Machine.RESOURCE,
        {
            "apiVersion": Machine.RESOURCE.api_version,
            "kind": "Machine",
            "metadata": {"name": name, "namespace": "default", "labels": labels},
            "spec": spec,
        },
    )
    await bench.create_owned(config, owner, labels, controller=True)
    return owner


async def initialized(bench: ProviderBench) -> None:
    condition = {"type": "ControlPlaneInitialized", "status": "True", "reason": "Initialized"}
    condition |= {"message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    patch = {"status": {"conditions": [condition]}}
    await bench.client.patch(Cluster.RESOURCE, key("blue"), patch, subresource="status")


async def sheet(bench: ProviderBench, name: str) -> str:
    secret = await bench.get(SECRETS, name)
    return "" if secret is None else b64decode(secret["data"]["value"]).decode()


def is_made(config: Document) -> bool:
    return bool(config.get("status", {}).get("initialization", {}).get("dataSecretCreated"))


def conditions(config: Document) -> dict[str, tuple[str, str, str]]:
    return {
        one["type"]: (one["status"], one["reason"], one["message"])
        for one in config.get("status", {}).get("conditions", [])
    }


async def test_boot_data_comes_step_by_step_and_each_step_says_what_it_waits_for(
    scene: Scene,
) -> None:
    bench = scene.bench
    await bench.cluster("blue")
    await machine(bench, "worker-0")
    await machine(bench, "plane-0", control_plane=True)
    await asyncio.sleep(1)
    waiting = "Waiting for the Cluster's infrastructure"
    assert conditions(await scene.config("worker-0")) == {
        "Paused": ("False", "NotPaused", ""),
        "DataSecretAvailable": ("False", "NotAvailable", waiting),
        "Ready": ("False", "NotReady", f"* DataSecretAvailable: {waiting}"),
    }
    await bench.cluster_provisioned("blue")
    await bench.until(RESOURCE, "plane-0", is_made)
    assert await sheet(bench, "plane-0") == "begin blue v1.34.0 in blue"
    waiting = "Waiting for the control plane to be initialized"
    told = conditions(await scene.config("worker-0"))["DataSecretAvailable"]
    assert told == ("False", "NotAvailable", waiting)
    await initialized(bench)
    config = await bench.until(RESOURCE, "worker-0", is_made)
    assert await sheet(bench, "worker-0") == "join blue v1.34.0 in blue"
    assert config["status"]["dataSecretName"] == "worker-0"
    assert conditions(config)["Ready"] == ("True", "Ready", "")
    assert scene.boot.asked == ["plane-0", "worker-0"]
    assert "finalizers" not in config["metadata"]


async def test_the_secret_is_what_the_contract_asks_for(scene: Scene) -> None:
    await scene.bench.cluster("blue", provisioned=True)
    await machine(scene.bench, "plane-0", control_plane=True)
    config = await scene.bench.until(RESOURCE, "plane-0", is_made)
    secret = await scene.bench.client.get(SECRETS, key("plane-0"))
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
    assert {one: b64decode(value) for one, value in secret["data"].items()} == {
        "value": b"begin blue v1.34.0 in blue",
        "format": b"cloud-config",
    }


async def test_one_machine_is_the_first_and_when_it_goes_another_one(scene: Scene) -> None:
    bench = scene.bench
    await bench.cluster("blue", provisioned=True)
    for name in ("plane-0", "plane-1"):
        await machine(bench, name, control_plane=True)
    await bench.until(RESOURCE, "plane-0", is_made)
    await asyncio.sleep(60)
    said = conditions(await scene.config("plane-1"))["DataSecretAvailable"][2]
    assert said == "Waiting for another machine to initialize first"
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


async def test_who_does_not_know_that_it_took_the_lock_comes_to_know_it() -> None:
    async with provider_bench([RESOURCE]) as bench:
        lost = LostLock(bench.transport)
        async with life(
            bench, lambda runtime: add_bootstrap(runtime, PaperConfig, PaperBoot()), lost
        ):
            await bench.cluster("blue", provisioned=True)
            await machine(bench, "plane-0", control_plane=True)
            await bench.until(RESOURCE, "plane-0", is_made, within=60)
        assert lost.lost


async def test_data_is_made_once_whatever_changes_and_its_owner_comes_back(scene: Scene) -> None:
    bench = scene.bench
    await bench.cluster("blue", provisioned=True)
    await initialized(bench)
    await machine(bench, "worker-0")
    await bench.until(RESOURCE, "worker-0", is_made)
    await bench.client.patch(RESOURCE, key("worker-0"), {"spec": {"ink": "red"}})
    lost: Document = {"metadata": {"ownerReferences": None}}
    await bench.client.patch(SECRETS, key("worker-0"), lost)
    secret = await bench.until(
        SECRETS, "worker-0", lambda one: one["metadata"].get("ownerReferences")
    )
    version = secret["metadata"]["resourceVersion"]
    config = (await scene.config("worker-0"))["metadata"]["resourceVersion"]
    await asyncio.sleep(600)
    assert (await scene.config("worker-0"))["metadata"]["resourceVersion"] == config
    secret = await bench.client.get(SECRETS, key("worker-0"))
    assert secret["metadata"]["resourceVersion"] == version
    assert await sheet(bench, "worker-0") == "join blue v1.34.0 in blue"


async def test_a_status_that_was_lost_is_found_again(scene: Scene) -> None:
    """A move or a restore brings objects without their status; the Machine remembers."""
    bench = scene.bench
    await bench.cluster("blue", provisioned=True)
    await initialized(bench)
    pause: Document = {"spec": {"paused": True}}
    await bench.client.patch(Cluster.RESOURCE, key("blue"), pause)
    await machine(bench, "worker-0")
    await bench.bootstrap("blue", "worker-0", b"as it was")
    await bench.client.patch(Cluster.RESOURCE, key("blue"), {"spec": {"paused": None}})
    config = await bench.until(RESOURCE, "worker-0", is_made)
    assert config["status"]["dataSecretName"] == "worker-0"
    assert not scene.boot.asked
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
async def test_what_is_to_be_left_alone_is(scene: Scene, stop: Document, go_on: Document) -> None:
    bench = scene.bench
    await bench.cluster("blue", paused=True, provisioned=True)
    await machine(bench, "plane-0", control_plane=True)
    await asyncio.sleep(1)
    await bench.client.patch(RESOURCE, key("plane-0"), {"metadata": {"annotations": stop}})
    await bench.client.patch(Cluster.RESOURCE, key("blue"), {"spec": {"paused": None}})
    await asyncio.sleep(60)
    assert not scene.boot.asked
    await bench.client.patch(RESOURCE, key("plane-0"), {"metadata": {"annotations": go_on}})
    await bench.until(RESOURCE, "plane-0", is_made)


async def test_another_kinds_secret_is_not_taken(scene: Scene) -> None:
    bench = scene.bench
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "u", "controller": True}
    metadata: Document = {"name": "plane-0", "namespace": "default", "ownerReferences": [owner]}
    metadata["labels"] = {Label.CLUSTER_NAME: "blue"}
    theirs = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}
    await bench.client.create(SECRETS, {**theirs, "data": {"value": ""}})
    await bench.cluster("blue", provisioned=True)
    await machine(bench, "plane-0", control_plane=True)
    config = await bench.until(
        RESOURCE, "plane-0", lambda one: "DataSecretAvailable" in conditions(one)
    )
    status, reason, message = conditions(config)["DataSecretAvailable"]
    assert (status, reason) == ("Unknown", "InternalError")
    assert "already controlled by ConfigMap c" in message


class Broken(PaperBoot):
    error: Exception | None = KapyError("out of ink")

    async def data(self, context: BootstrapContext[PaperConfig]) -> BootstrapData | Waiting:
        if self.error is not None:
            raise self.error
        return await super().data(context)

    def for_v1beta1(self, reported: Sequence[Condition]) -> Sequence[V1Beta1Condition]:
        return in_v1beta1(reported)


@pytest.mark.parametrize(
    ("error", "message", "event"),
    [
        pytest.param(
            KapyError("out of ink"), "KapyError: out of ink", "KapyError: out of ink", id="told"
        ),
        pytest.param(
            ValueError("secret token"),
            "Please check controller logs for errors",
            "ValueError",
            id="not shown",
        ),
    ],
)
async def test_a_provider_that_fails_is_asked_again_and_its_failure_is_told(
    error: Exception, message: str, event: str
) -> None:
    async with provider_bench([RESOURCE]) as bench:
        boot = Broken()
        boot.error = error
        add_bootstrap(bench.runtime, PaperConfig, boot)
        async with bench.running():
            await bench.cluster("blue", provisioned=True)
            await machine(bench, "plane-0", control_plane=True)
            await asyncio.sleep(20)
            config = await bench.until(RESOURCE, "plane-0", conditions)
            told = conditions(config)["DataSecretAvailable"]
            assert told == ("Unknown", "InternalError", message)
            old = config["status"]["deprecated"]["v1beta1"]["conditions"]
            assert {one["type"]: one["message"] for one in old} == {
                "Ready": message,
                "DataSecretAvailable": message,
            }
            (noted,) = (await bench.client.list(EVENTS, "default")).items
            assert (noted["type"], noted["reason"]) == ("Warning", "FailedBootstrapData")
            assert noted["message"] == event
            boot.error = None
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
            told = conditions(config)["DataSecretAvailable"]
            waits = 'waiting for the Secret default/blue-ca with the cluster\'s certificate "ca"'
            assert told == ("False", "NotAvailable", waits)
            pair = new_ca("kubernetes", now=bench.clock(), valid=timedelta(days=9))
            await bench.client.create(SECRETS, certificate_secret(key("blue"), "ca", pair))
            await bench.until(RESOURCE, "worker-0", is_made, within=1)
            assert await sheet(bench, "worker-0") == pair.certificate.decode()


async def pool(bench: ProviderBench, **spec: Any) -> None:
    config = {**CONFIG, "metadata": {"name": "pool"}}
    infra = {"apiGroup": "example.dev", "kind": "Anything", "name": "pool"}
    labels = {Label.CLUSTER_NAME: "blue"}
    template = {
        "clusterName": "blue",
        "version": "v1.34.0",
        "bootstrap": {"configRef": reference(config)},
        "infrastructureRef": infra,
    }
    document = {
        "apiVersion": MachinePool.RESOURCE.api_version,
        "kind": "MachinePool",
        "metadata": {"name": "pool", "namespace": "default", "labels": labels},
        "spec": {"clusterName": "blue", "template": {"spec": template}},
    }
    owner = await bench.client.create(MachinePool.RESOURCE, document)
    await bench.create_owned(config, owner, labels, controller=True)


async def test_a_pools_data_is_made_anew_a_machines_never() -> None:
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
            await bench.until(SECRETS, "pool", lambda one: one["data"], within=1)
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


class Restless(Letterhead):
    async def refresh(
        self, context: BootstrapContext[Document], made: BootstrapData
    ) -> BootstrapData | Unchanged | Waiting:
        return BootstrapData(value=b"another one")


async def test_a_machines_data_that_is_answered_anew_is_a_mistake_and_not_written() -> None:
    async with provider_bench([RESOURCE]) as bench:
        add_bootstrap(bench.runtime, RESOURCE, Restless(bench.clock), finalizer=FINALIZER)
        async with bench.running():
            await bench.cluster("blue", provisioned=True)
            await machine(bench, "worker-0")
            await bench.until(RESOURCE, "worker-0", is_made)
            taken = {"spec": {"bootstrap": {"dataSecretName": "worker-0"}}}
            await bench.client.patch(Machine.RESOURCE, key("worker-0"), taken)
            await asyncio.sleep(20)
            config = await bench.until(RESOURCE, "worker-0", is_made)
            status, reason, message = conditions(config)["Ready"]
            assert (status, reason) == ("Unknown", "InternalError")
            assert "must not change" in message
            assert conditions(config)["DataSecretAvailable"][0] == "True"
            assert await sheet(bench, "worker-0") not in ("", "another one")


def test_a_release_without_a_finalizer_is_a_mistake() -> None:
    with pytest.raises(ProviderMistake, match="pass add_bootstrap a finalizer"):
        add_bootstrap(_unused_runtime(), RESOURCE, Letterhead(_never))


def _unused_runtime() -> Runtime:
    async def nobody(request: Any) -> Any:
        raise AssertionError("nothing is asked")

    return Runtime.on(nobody, clock=_never)


def _never() -> Any:
    raise AssertionError("nobody asks for the time")


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


class Numbered(BootstrapProvider[Document]):
    """Another sheet whenever it is asked: nobody may see two for one machine."""

    initialises = True
    asked = 0

    async def data(self, context: BootstrapContext[Document]) -> BootstrapData | Waiting:
        Numbered.asked += 1
        return BootstrapData(value=f"{context.first} {Numbered.asked}".encode())


async def test_a_provider_that_dies_after_any_write_makes_no_second_sheet() -> None:
    add = partial(_add, provider=Numbered())
    for writes in range(1, 12):
        async with provider_bench([RESOURCE]) as bench:
            await bench.cluster("blue", provisioned=True)
            await machine(bench, "plane-0", control_plane=True)
            left = await short_lives(bench, add, writes)
            first = await sheet(bench, "plane-0")
            async with life(bench, add):
                await bench.until(RESOURCE, "plane-0", is_made)
                seen = await sheet(bench, "plane-0")
            assert seen.startswith("True")
            assert first in ("", seen)
        if left > 0:
            return
    raise AssertionError("it never came to rest")


@pytest.mark.parametrize("seed", range(3))
async def test_on_a_bad_day_each_machine_has_one_sheet_and_one_is_the_first(seed: int) -> None:
    async with provider_bench([RESOURCE]) as bench:
        faults = Faults(bench.transport, seed=seed)
        async with life(bench, partial(_add, provider=Numbered()), faults):
            await bench.cluster("blue", provisioned=True)
            for name in ("plane-0", "plane-1", "worker-0"):
                await machine(bench, name, control_plane=name.startswith("plane"))
            seen: dict[str, set[str]] = {}
            for step in range(1200):
                await asyncio.sleep(0.1)
                for name in ("plane-0", "plane-1", "worker-0"):
                    seen.setdefault(name, set()).add(await sheet(bench, name))
                if step == 300:
                    await initialized(bench)
            assert faults.happened
        sheets = [found - {""} for found in seen.values()]
        assert all(len(found) == 1 for found in sheets)
        assert sum(one.startswith("True") for found in sheets for one in found) == 1


def _add(runtime: Runtime, provider: BootstrapProvider[Any]) -> None:
    add_bootstrap(runtime, RESOURCE, provider)
