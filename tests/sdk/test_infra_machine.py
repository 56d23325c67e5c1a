"""The guarantees of the SDK for a provider of machines."""

from __future__ import annotations

import asyncio
import base64
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

import pytest
import pytest_asyncio

from kapy.api.cluster import Cluster
from kapy.api.condition import Condition, V1Beta1Condition
from kapy.api.machine import Machine
from kapy.conditions import false, true
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError
from kapy.kube.names import EVENTS, SECRETS
from kapy.sdk import (
    InfraMachineProvider,
    MachineContext,
    Provisioned,
    Released,
    Waiting,
    add_infra_machine,
    v1beta1,
)
from kapy.testing.conformance.behaviour import check_infra_machine
from kapy.testing.provider_bench import ProviderBench, key, provider_bench
from tests.sdk.paper_cloud import MACHINE, PaperCloud, PaperMachine

FINALIZER = "paper.example.dev/machine"
RESOURCE = PaperMachine.RESOURCE


@dataclass
class Setup:
    bench: ProviderBench
    cloud: PaperCloud

    async def machine(self, name: str = "worker-0") -> Document:
        document = await self.bench.get(RESOURCE, name)
        assert document is not None
        return document


@pytest_asyncio.fixture
async def setup() -> AsyncIterator[Setup]:
    async with provider_bench([RESOURCE]) as bench:
        cloud = PaperCloud()
        add_infra_machine(bench.runtime, PaperMachine, cloud, finalizer=FINALIZER)
        async with bench.running():
            yield Setup(bench, cloud)


def conditions(document: Document) -> dict[str, tuple[str, str, str]]:
    return {
        condition["type"]: (condition["status"], condition["reason"], condition["message"])
        for condition in document.get("status", {}).get("conditions", [])
    }


def old_conditions(document: Document) -> dict[str, tuple[str, str, str]]:
    return {
        condition["type"]: (
            condition["status"],
            condition.get("reason", ""),
            condition.get("message", ""),
        )
        for condition in document["status"]["deprecated"]["v1beta1"]["conditions"]
    }


def is_ready(document: Document) -> bool:
    return conditions(document).get("Ready", ("", "", ""))[0] == "True"


class Forgetful(PaperCloud):
    def __init__(self) -> None:
        super().__init__()
        self.answers: Counter[str] = Counter()

    async def reconcile_normal(
        self, context: MachineContext[PaperMachine]
    ) -> Provisioned | Waiting:
        answer = await super().reconcile_normal(context)
        if isinstance(answer, Provisioned):
            self.answers[context.uid] += 1
            return Provisioned(
                provider_id=f"paper://{context.uid}/{min(self.answers[context.uid], 2)}"
            )
        return answer


class Sticky(PaperCloud):
    async def reconcile_delete(self, context: MachineContext[PaperMachine]) -> Released | Waiting:
        return Waiting(message="still there")


class NeverReady(PaperCloud):
    async def reconcile_normal(
        self, context: MachineContext[PaperMachine]
    ) -> Provisioned | Waiting:
        return Waiting(message="out of paper")


async def test_a_good_provider_conforms() -> None:
    await check_infra_machine(PaperMachine, MACHINE, lambda _: PaperCloud())


@pytest.mark.parametrize(
    ("provider", "rule"),
    [
        pytest.param(Forgetful, "provider-id-value: .* must stay", id="another machine each time"),
        pytest.param(Sticky, "/deletion: .* still there", id="never lets go"),
        pytest.param(NeverReady, "/initialized: .* it was not set", id="never ready"),
    ],
)
async def test_an_invalid_provider_is_refused_with_the_rule(
    provider: type[InfraMachineProvider[PaperMachine]], rule: str
) -> None:
    with pytest.raises(AssertionError, match=rule):
        await check_infra_machine(PaperMachine, MACHINE, lambda _: provider())


async def test_a_machine_becomes_ready_and_reports_its_obstacles(setup: Setup) -> None:
    bench = setup.bench
    await bench.cluster("blue")
    await bench.machine("blue", "worker-0", MACHINE)
    await asyncio.sleep(1)
    assert conditions(await setup.machine()) == {
        "Paused": ("False", "NotPaused", ""),
        "Ready": (
            "False",
            "WaitingForClusterInfrastructureReady",
            "Waiting for the Cluster's infrastructure",
        ),
    }
    await bench.cluster_provisioned("blue")
    await asyncio.sleep(1)
    ready = conditions(await setup.machine())["Ready"]
    assert ready == (
        "False",
        "WaitingForControlPlaneInitialized",
        "Waiting for the first control plane machine",
    )
    initialized = {"type": "ControlPlaneInitialized", "status": "True", "reason": "Initialized"}
    initialized |= {"message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    await bench.client.patch(
        Cluster.RESOURCE,
        key("blue"),
        {"status": {"conditions": [initialized]}},
        subresource="status",
    )
    await asyncio.sleep(1)
    ready = conditions(await setup.machine())["Ready"]
    assert ready == ("False", "WaitingForBootstrapData", "Waiting for boot data")
    assert not setup.cloud.looks
    await bench.bootstrap("blue", "worker-0", b"#!/bin/sh")
    await asyncio.sleep(1)
    assert conditions(await setup.machine())["Ready"] == ("False", "NotReady", "booting")
    await asyncio.sleep(10)
    machine = await setup.machine()
    assert conditions(machine)["Ready"] == ("True", "Ready", "")
    assert machine["spec"] == {"sheets": 3, "providerID": "paper://worker-0"}
    assert machine["status"]["initialization"] == {"provisioned": True}
    assert machine["status"]["addresses"] == [{"type": "InternalIP", "address": "10.0.0.4"}]
    assert setup.cloud.data == {"worker-0": b"#!/bin/sh"}
    generation = machine["metadata"]["generation"]
    assert {condition["observedGeneration"] for condition in machine["status"]["conditions"]} == {
        generation
    }


async def test_bootstrap_data_without_the_clusters_label_is_found_too(setup: Setup) -> None:
    await setup.bench.cluster("blue", provisioned=True)
    await setup.bench.machine("blue", "worker-0", MACHINE)
    patch = {"spec": {"bootstrap": {"dataSecretName": "mine"}}}
    await setup.bench.client.patch(Machine.RESOURCE, key("worker-0"), patch)
    await asyncio.sleep(5)
    assert not setup.cloud.looks
    secret = {"apiVersion": "v1", "kind": "Secret", "data": {"value": "aGk="}}
    secret["metadata"] = {"name": "mine", "namespace": "default"}
    await setup.bench.client.create(SECRETS, secret)
    await setup.bench.until(RESOURCE, "worker-0", is_ready)
    assert setup.cloud.data == {"worker-0": b"hi"}


async def test_a_paused_cluster_stops_everything_even_deletion(setup: Setup) -> None:
    bench = setup.bench
    await bench.cluster("blue", provisioned=True)
    await bench.machine("blue", "worker-0", MACHINE, bootstrap_data=b"x")
    await bench.until(RESOURCE, "worker-0", is_ready)
    await bench.client.patch(Cluster.RESOURCE, key("blue"), {"spec": {"paused": True}})
    await asyncio.sleep(1)
    await bench.client.delete(RESOURCE, key("worker-0"))
    await asyncio.sleep(30)
    machine = await setup.machine()
    assert conditions(machine)["Paused"] == ("True", "Paused", "Cluster spec.paused is set to true")
    assert setup.cloud.looks
    await bench.client.patch(Cluster.RESOURCE, key("blue"), {"spec": {"paused": None}})
    await bench.until_gone(RESOURCE, "worker-0")
    assert not setup.cloud.looks


async def test_a_machine_without_an_owner_is_left_alone_until_it_is_released(setup: Setup) -> None:
    document = {**MACHINE, "metadata": {"name": "lonely", "namespace": "default"}}
    document["metadata"]["finalizers"] = [FINALIZER]
    await setup.bench.client.create(RESOURCE, document)
    await asyncio.sleep(5)
    assert "status" not in await setup.machine("lonely")
    await setup.bench.client.delete(RESOURCE, key("lonely"))
    await setup.bench.until_gone(RESOURCE, "lonely")


class Detailed(PaperCloud):
    """Reports conditions of its own, and fails on request."""

    broken = False

    async def reconcile_normal(
        self, context: MachineContext[PaperMachine]
    ) -> Provisioned | Waiting:
        if self.broken:
            raise KapyError("the paper jammed")
        self.looks[context.key.name] = self.looks.get(context.key.name, 0) + 1
        done = self.looks[context.key.name] > 2
        inked = true("Inked", "Dry") if done else false("Inked", "StillWet", "wait a little")
        return Provisioned(
            provider_id="paper://1",
            conditions=(true("Folded", "Folded"), inked),
            requeue_after=None if done else timedelta(seconds=3),
            requeue_reason="the ink dries",
        )


async def test_ready_sums_up_the_providers_conditions_after_it_is_provisioned() -> None:
    async with provider_bench([RESOURCE]) as bench:
        cloud = Detailed()
        add_infra_machine(bench.runtime, PaperMachine, cloud, finalizer=FINALIZER)
        async with bench.running():
            await bench.cluster("blue", provisioned=True)
            await bench.machine("blue", "worker-0", MACHINE, bootstrap_data=b"x")
            machine = await bench.until(
                RESOURCE,
                "worker-0",
                lambda document: "initialization" in document.get("status", {}),
            )
            assert conditions(machine)["Ready"] == (
                "False",
                "NotReady",
                "* Inked: wait a little",
            )
            await bench.until(RESOURCE, "worker-0", is_ready)


class OldFashioned(Detailed):
    """Tells readers of v1beta1 of the ink, and has no ID before that."""

    async def reconcile_normal(
        self, context: MachineContext[PaperMachine]
    ) -> Provisioned | Waiting:
        normal = await super().reconcile_normal(context)
        assert isinstance(normal, Provisioned)
        if normal.requeue_after is None:
            return normal
        return Waiting(
            message=normal.requeue_reason,
            requeue_after=normal.requeue_after,
            conditions=normal.conditions,
        )

    def for_v1beta1(self, reported: Sequence[Condition]) -> Sequence[V1Beta1Condition]:
        folded, inked = reported
        if inked.status == "True":
            return [v1beta1.true(folded.type), v1beta1.true(inked.type)]
        return [
            v1beta1.true(folded.type),
            v1beta1.false(inked.type, "Wet", v1beta1.INFO, inked.message),
        ]


async def test_v1beta1_conditions_have_the_reports_of_the_provider() -> None:
    async with provider_bench([RESOURCE]) as bench:
        add_infra_machine(bench.runtime, PaperMachine, OldFashioned(), finalizer=FINALIZER)
        async with bench.running():
            await bench.cluster("blue", provisioned=True)
            await bench.machine("blue", "worker-0", MACHINE, bootstrap_data=b"x")
            machine = await bench.until(RESOURCE, "worker-0", conditions)
            assert old_conditions(machine) == {
                "Ready": ("False", "Wet", "1 of 2 completed"),
                "Folded": ("True", "", ""),
                "Inked": ("False", "Wet", "wait a little"),
            }
            machine = await bench.until(RESOURCE, "worker-0", is_ready)
            messages = old_conditions(machine)
            assert messages == dict.fromkeys(("Ready", "Folded", "Inked"), ("True", "", ""))


async def test_a_failing_provider_is_called_again_and_its_failure_reported() -> None:
    async with provider_bench([RESOURCE]) as bench:
        cloud = Detailed()
        cloud.broken = True
        add_infra_machine(bench.runtime, PaperMachine, cloud, finalizer=FINALIZER)
        async with bench.running():
            await bench.cluster("blue", provisioned=True)
            await bench.machine("blue", "worker-0", MACHINE, bootstrap_data=b"x")
            await asyncio.sleep(20)
            (event,) = (await bench.client.list(EVENTS, "default")).items
            assert event["type"] == "Warning"
            assert event["reason"] == "FailedConverge"
            assert event["message"] == "KapyError: the paper jammed"
            assert event["involvedObject"]["name"] == "worker-0"
            machine = await bench.until(RESOURCE, "worker-0", conditions)
            messages = ("Unknown", "InternalError", "KapyError: the paper jammed")
            assert conditions(machine)["Ready"] == messages
            cloud.broken = False
            await bench.until(RESOURCE, "worker-0", is_ready)


class Annotating(PaperCloud):
    """Serves machines of few sheets; another provider serves the others."""

    def __init__(self) -> None:
        super().__init__()
        self.formats: dict[str, str] = {}

    def serves(self, document: Document) -> bool:
        return bool(document["spec"]["sheets"] < 5)

    async def reconcile_normal(
        self, context: MachineContext[PaperMachine]
    ) -> Provisioned | Waiting:
        self.formats[context.key.name] = context.bootstrap_format
        return Provisioned(provider_id="paper://a", annotations={"paper.example.dev/tray": "2"})


async def test_annotations_and_the_format_of_boot_data_travel() -> None:
    async with provider_bench([RESOURCE]) as bench:
        cloud = Annotating()
        add_infra_machine(bench.runtime, PaperMachine, cloud, finalizer=FINALIZER)
        async with bench.running():
            await bench.cluster("blue", provisioned=True)
            await bench.machine("blue", "worker-0", MACHINE, bootstrap_data=b"{}")
            await asyncio.sleep(1)
            document = await bench.get(RESOURCE, "worker-0")
            assert document is not None
            assert document["metadata"]["annotations"] == {"paper.example.dev/tray": "2"}
            assert cloud.formats == {"worker-0": "cloud-config"}
            secret = next(
                item
                for item in (await bench.client.list(SECRETS, namespace="default")).items
                if "value" in (item.get("data") or {})
            )
            patch = {"data": {"format": base64.b64encode(b"ignition").decode()}}
            await bench.client.patch(SECRETS, Key.of(secret), patch)
            await bench.client.patch(RESOURCE, key("worker-0"), {"metadata": {"labels": {"a": ""}}})
            await asyncio.sleep(1)
            assert cloud.formats == {"worker-0": "ignition"}


async def test_a_machine_of_another_provider_is_not_released() -> None:
    async with provider_bench([RESOURCE]) as bench:
        add_infra_machine(bench.runtime, PaperMachine, Annotating(), finalizer=FINALIZER)
        async with bench.running():
            await bench.cluster("blue", provisioned=True)
            metadata = {"finalizers": [FINALIZER]}
            others = {**MACHINE, "metadata": metadata, "spec": {"sheets": 5}}
            await bench.machine("blue", "worker-0", others, bootstrap_data=b"x")
            await bench.client.delete(RESOURCE, key("worker-0"))
            await asyncio.sleep(60)
            document = await bench.get(RESOURCE, "worker-0")
            assert document is not None
            assert document["metadata"]["finalizers"] == [FINALIZER]
            assert "status" not in document
