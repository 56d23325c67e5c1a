"""Additions of providers to the status: their own fields, columns, and terminal failures."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Final

import pytest
from msgspec import field

from kapy.apps.provider.definitions import crds_of
from kapy.kube import Document
from kapy.kube.names import CRDS
from kapy.sdk import (
    AGE,
    BootstrapConfigStatus,
    Column,
    ControlPlaneSpec,
    ControlPlaneStatus,
    Failed,
    InfraClusterSpec,
    InfraClusterStatus,
    InfraMachinePoolSpec,
    InfraMachinePoolStatus,
    InfraMachineProvider,
    InfraMachineSpec,
    InfraMachineStatus,
    MachineContext,
    Model,
    Object,
    Provider,
    Provisioned,
    Released,
    Resource,
    Waiting,
    add_infra_machine,
    conditions,
    resource,
    rules,
)
from kapy.sdk.machine_control_plane import ControlPlaneObserved
from kapy.testing.provider_bench import key, provider_bench
from tests.sdk.one_of_each import EACH, NAME, Each
from tests.sdk.test_every_controller import asked

GROUP: Final = "infrastructure.cluster.x-k8s.io"
SUMS_UP: Final = {"control plane": "Available"}
CAN_FAIL: Final = [
    pytest.param(value, SUMS_UP.get(name, "Ready"), id=name)
    for name, value in EACH.items()
    if value.question in ("reconcile_normal", "data")
]
HAS_STATUS: Final = [
    pytest.param(value, id=name) for name, value in EACH.items() if value.question != "allocate"
]
GONE: Final = Failed(
    reason="DiskLost",
    message="the disk of the machine is lost",
    conditions=(conditions.true("NetworkReady", "NetworkReady"),),
    status={"zone": "north"},
)


def answering(answer: Any) -> Any:
    async def question(*_: Any, **__: Any) -> Any:
        return answer

    return question


def told(document: Document) -> dict[str, tuple[str, str]]:
    result = document["status"]["conditions"]
    return {item["type"]: (item["status"], item["reason"]) for item in result}


@pytest.mark.parametrize(("case", "sums_up"), CAN_FAIL)
async def test_a_terminal_failure_is_reported_and_left_alone(case: Each, sums_up: str) -> None:
    async with asked(case, answering(GONE)) as (bench, question):
        await asyncio.sleep(1)
        document = await bench.client.get(case.resource, key(NAME))
        assert document["status"]["failureReason"] == GONE.reason
        assert document["status"]["failureMessage"] == GONE.message
        assert document["status"]["zone"] == "north"
        assert told(document)[sums_up] == ("False", "DiskLost" if sums_up else "")
        assert told(document)["NetworkReady"][0] == "True"
        patch = {"metadata": {"labels": {"touched": "yes"}}}
        await bench.client.patch(case.resource, key(NAME), patch)
        await asyncio.sleep(600)
        assert question.times == 1
        await bench.client.delete(case.resource, key(NAME))
        await bench.until_gone(case.resource, NAME)


@pytest.mark.parametrize(("case", "sums_up"), CAN_FAIL)
async def test_a_provider_is_asked_again_when_a_foreign_failure_mark_is_removed(
    case: Each, sums_up: str
) -> None:
    del sums_up
    async with asked(case, answering(Waiting(message="it boots", requeue_after=None))) as both:
        bench, question = both
        await asyncio.sleep(1)
        mark: Document = {"status": {"failureMessage": "seen by somebody else"}}
        await bench.client.patch(case.resource, key(NAME), mark, subresource="status")
        await asyncio.sleep(1)
        before = question.times
        patch = {"metadata": {"labels": {"touched": "yes"}}}
        await bench.client.patch(case.resource, key(NAME), patch)
        await asyncio.sleep(1)
        assert question.times == before
        removals: Document = {"status": {"failureMessage": None}}
        await bench.client.patch(case.resource, key(NAME), removals, subresource="status")
        await asyncio.sleep(1)
        assert question.times == before + 1


def saying(value: Each, status: Document) -> Any:
    """An answer with fields of the provider's own."""
    if value.question == "observe":
        return ControlPlaneObserved(initialized=False, status=status)
    return Waiting(message="it boots", requeue_after=None, status=status)


class Disk(Model):
    size_gib: int = 0


@pytest.mark.parametrize("case", HAS_STATUS)
async def test_fields_of_the_status_are_the_provider_s_own(case: Each) -> None:
    answers: list[Document] = [
        {"zone": "north", "disks": [Disk(size_gib=3)], "seen": {"a": 1, "b": 2}},
        {"disks": [], "seen": {"b": 3}},
        {"zone": None},
    ]
    statuses: list[Document] = []

    async def question(*_: Any, **__: Any) -> Any:
        return saying(case, answers[min(len(statuses), 2)])

    async with asked(case, question) as (bench, _):
        for number in range(3):
            patch = {"metadata": {"labels": {"touched": str(number)}}}
            await asyncio.sleep(1)
            statuses.append((await bench.client.get(case.resource, key(NAME)))["status"])
            await bench.client.patch(case.resource, key(NAME), patch)
    own = [
        {name: document[name] for name in ("zone", "disks", "seen") if name in document}
        for document in statuses
    ]
    assert own == [
        {"zone": "north", "disks": [{"sizeGib": 3}], "seen": {"a": 1, "b": 2}},
        {"zone": "north", "disks": [], "seen": {"b": 3}},
        {"disks": [], "seen": {"b": 3}},
    ]


@pytest.mark.parametrize("case", HAS_STATUS)
async def test_a_field_of_the_contract_is_refused(case: Each) -> None:
    async with asked(case, answering(saying(case, {"conditions": []}))) as (bench, question):
        await asyncio.sleep(1)
        document = await bench.client.get(case.resource, key(NAME))
        assert ("Unknown", "InternalError") in told(document).values()
        assert "status.conditions is a field of the contract" in str(document["status"])
        assert question.times > 1


class CowStatus(InfraMachineStatus):
    """A machine as it was seen."""

    zone: Annotated[str, rules("Where it runs.")] = ""


class CowMachine(Object):
    """One machine."""

    RESOURCE: ClassVar[Resource] = resource(GROUP, "v1alpha1", "CowMachine")
    COLUMNS: ClassVar[Sequence[Column]] = (Column("Zone", ".status.zone", "Where it runs"), AGE)

    spec: InfraMachineSpec = field(default_factory=InfraMachineSpec)
    status: CowStatus = field(default_factory=CowStatus)


class CowCluster(Object):
    """The network of a cluster."""

    RESOURCE: ClassVar[Resource] = resource(GROUP, "v1alpha1", "CowCluster")

    spec: InfraClusterSpec = field(default_factory=InfraClusterSpec)
    status: InfraClusterStatus = field(default_factory=InfraClusterStatus)


class CowMachinePool(Object):
    """A pool of machines."""

    RESOURCE: ClassVar[Resource] = resource(GROUP, "v1alpha1", "CowMachinePool")

    spec: InfraMachinePoolSpec = field(default_factory=InfraMachinePoolSpec)
    status: InfraMachinePoolStatus = field(default_factory=InfraMachinePoolStatus)


class CowConfig(Object):
    """Boot data."""

    RESOURCE: ClassVar[Resource] = resource(GROUP, "v1alpha1", "CowConfig")

    status: BootstrapConfigStatus = field(default_factory=BootstrapConfigStatus)


class CowControlPlane(Object):
    """A control plane."""

    RESOURCE: ClassVar[Resource] = resource(GROUP, "v1alpha1", "CowControlPlane")

    spec: ControlPlaneSpec = field(default_factory=ControlPlaneSpec)
    status: ControlPlaneStatus = field(default_factory=ControlPlaneStatus)


COWS: Final = Provider(
    name="cow",
    kinds=(CowMachine, CowCluster, CowMachinePool, CowConfig, CowControlPlane),
    add_to=lambda _: None,
    image="registry.example/cow",
)


class Lost(InfraMachineProvider[CowMachine]):
    async def reconcile_normal(
        self, context: MachineContext[CowMachine]
    ) -> Provisioned | Failed | Waiting:
        return GONE

    async def reconcile_delete(self, context: MachineContext[CowMachine]) -> Released | Waiting:
        return Released()


async def test_printed_crds_keep_the_answers_of_the_provider() -> None:
    async with provider_bench([]) as bench:
        crds = {item["spec"]["names"]["kind"]: item for item in crds_of(COWS)}
        for crd in crds.values():
            await bench.client.create(CRDS, crd)
            version = crd["spec"]["versions"][0]
            status = version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]
            assert {"failureReason", "failureMessage"} <= status.keys()
            assert version["subresources"]["status"] == {}
        columns = crds["CowMachine"]["spec"]["versions"][0]["additionalPrinterColumns"]
        assert [column["name"] for column in columns] == ["Zone", "Age"]
        add_infra_machine(bench.runtime, CowMachine, Lost(), finalizer="cow.example/machine")
        async with bench.running():
            await bench.cluster("blue", provisioned=True)
            api_version = CowMachine.RESOURCE.api_version
            cow = {"apiVersion": api_version, "kind": "CowMachine", "metadata": {}, "spec": {}}
            await bench.machine("blue", NAME, cow, bootstrap_data=b"#!/bin/sh")
            await asyncio.sleep(1)
            document = await bench.client.get(CowMachine.RESOURCE, key(NAME))
            assert document["status"]["failureReason"] == "DiskLost"
            assert document["status"]["zone"] == "north"
