"""The guarantees of the SDK for a provider of control planes that consist of Machines."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
import pytest_asyncio

from kapy import conditions as conditions_of
from kapy._aio.services import run_services
from kapy.api.condition import Condition
from kapy.api.machine import Machine
from kapy.api.names import Label
from kapy.engine.runtime import Runtime
from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.kube.names import SECRETS
from kapy.sdk.machine_control_plane import (
    ControlPlaneObserved,
    MachineControlPlaneContext,
    add_machine_based_control_plane,
)
from kapy.testing.fake_core import reference
from kapy.testing.faults import Faults
from kapy.testing.provider_bench import ProviderBench, key, provider_bench
from tests.sdk.paper_stack import (
    CONFIGS,
    INFRA,
    STACK,
    STACKS,
    TEMPLATE,
    TEMPLATES,
    Hands,
    PaperStacks,
    domains,
)
from tests.sdk.provider_faults import life, short_lives

FINALIZER = "paper.example.dev/stack"
KINDS = (STACKS, TEMPLATES, INFRA, CONFIGS)
ENDPOINT = {"host": "blue.paper", "port": 6443}


@dataclass
class Setup:
    bench: ProviderBench
    stacks: PaperStacks
    hands: Hands

    async def stack(self) -> Document:
        return await self.bench.client.get(STACKS, key("blue"))

    async def change(self, **spec: Any) -> None:
        await self.bench.client.patch(STACKS, key("blue"), {"spec": spec})

    async def settled(self, replicas: int = 3) -> Document:
        """The stack with so many Machines, all of them there and as they are wanted."""
        counters = ("replicas", "readyReplicas", "upToDateReplicas")
        return await self.bench.until(
            STACKS,
            "blue",
            lambda document: (
                [document.get("status", {}).get(name) for name in counters] == [replicas] * 3
            ),
        )


async def machines(bench: ProviderBench) -> list[Document]:
    return list((await bench.client.list(Machine.RESOURCE, "default")).items)


async def begin(bench: ProviderBench, **spec: Any) -> None:
    stack = {**STACK, "metadata": {"name": "blue"}}
    spec = {"controlPlaneEndpoint": ENDPOINT, **spec}
    await bench.client.create(TEMPLATES, TEMPLATE)
    cluster = await bench.cluster(
        "blue", provisioned=True, controlPlaneRef=reference(stack), **spec
    )
    await bench.create_owned(stack, cluster, {Label.CLUSTER_NAME: "blue"}, controller=True)


@asynccontextmanager
async def stage(stacks: PaperStacks | None = None) -> AsyncIterator[Setup]:
    stacks = stacks or PaperStacks()
    async with provider_bench(KINDS) as bench:
        hands = Hands(bench)
        add(bench.runtime, stacks)
        async with bench.running(), run_services(hands=hands.work):
            yield Setup(bench, stacks, hands)


@pytest_asyncio.fixture
async def setup() -> AsyncIterator[Setup]:
    async with stage() as setup:
        yield setup


def add(runtime: Runtime, stacks: PaperStacks) -> None:
    add_machine_based_control_plane(runtime, STACKS, stacks, finalizer=FINALIZER)


def conditions(document: Document) -> dict[str, tuple[str, str, str]]:
    return {
        condition["type"]: (condition["status"], condition["reason"], condition.get("message", ""))
        for condition in document.get("status", {}).get("conditions", [])
    }


async def test_three_machines_come_up_one_after_the_other(setup: Setup) -> None:
    bench = setup.bench
    await begin(bench)
    await domains(bench, "a", "b", "workers")
    stack = await setup.settled()
    assert setup.hands.seen == sorted(setup.hands.seen)
    results = await machines(bench)
    assert Counter(item["spec"]["failureDomain"] for item in results) in (
        {"a": 2, "b": 1},
        {"a": 1, "b": 2},
    )
    firsts = 0
    for machine in results:
        name = machine["metadata"]["name"]
        assert machine["metadata"]["labels"] == {
            "cluster.x-k8s.io/cluster-name": "blue",
            "cluster.x-k8s.io/control-plane": "",
            "cluster.x-k8s.io/control-plane-name": "blue",
            "team": "a",
        }
        assert machine["spec"]["bootstrap"]["configRef"]["name"] == name
        config = await bench.client.get(CONFIGS, key(name))
        infra = await bench.client.get(INFRA, key(name))
        assert infra["spec"]["sheets"] == 3
        for document in (config, infra):
            assert document["metadata"]["labels"] == machine["metadata"]["labels"]
            assert document["metadata"]["annotations"]["note"] == "x"
        firsts += config["spec"]["first"]
        assert conditions(machine)["UpToDate"][0] == "True"
    assert firsts == 1
    assert stack["status"]["initialization"] == {"controlPlaneInitialized": True}
    assert stack["status"]["versions"] == [{"version": "v1.34.0", "replicas": 3}]
    messages = {text: status for text, (status, _, _) in conditions(stack).items()}
    assert messages == {
        "Available": "True",
        "MachinesReady": "True",
        "Paused": "False",
        "RollingOut": "False",
        "ScalingDown": "False",
        "ScalingUp": "False",
    }
    for purpose in ("ca", "etcd", "proxy", "sa", "kubeconfig"):
        assert await bench.get(SECRETS, f"blue-{purpose}") is not None
    template = await bench.client.get(TEMPLATES, key("sheets"))
    assert template["metadata"]["ownerReferences"][0]["kind"] == "Cluster"


@pytest.mark.parametrize(
    ("change", "surge", "most"),
    [
        pytest.param({"version": "v1.35.0"}, True, 4, id="another version, one more first"),
        pytest.param({"ink": "red"}, True, 4, id="another configuration"),
        pytest.param({"version": "v1.35.0"}, False, 3, id="one less first"),
    ],
)
async def test_a_rollout_replaces_one_machine_at_a_time(
    change: Document, surge: bool, most: int
) -> None:
    class Stacks(PaperStacks):
        pass

    Stacks.surge = surge
    async with stage(Stacks()) as setup:
        await begin(setup.bench)
        await setup.settled()
        before = {machine["metadata"]["name"] for machine in await machines(setup.bench)}
        setup.hands.seen.clear()
        await setup.change(**change)
        await setup.bench.until(
            STACKS, "blue", lambda stack: conditions(stack)["RollingOut"][0] == "True"
        )
        await asyncio.sleep(120)
        await setup.settled()
        after = {machine["metadata"]["name"] for machine in await machines(setup.bench)}
        assert not before & after
        assert set(setup.stacks.left) == before
        assert max(setup.hands.seen) == most


async def test_labels_are_added_and_removed_in_place(setup: Setup) -> None:
    bench = setup.bench
    await begin(bench)
    await setup.settled()
    names = {machine["metadata"]["name"] for machine in await machines(bench)}
    metadata: Document = {"labels": {"team": None, "floor": "2"}, "annotations": {"note": "y"}}
    await setup.change(machineTemplate={"metadata": metadata})
    await asyncio.sleep(20)
    assert {machine["metadata"]["name"] for machine in await machines(bench)} == names
    for resource in (Machine.RESOURCE, INFRA, CONFIGS):
        for document in (await bench.client.list(resource, "default")).items:
            assert document["metadata"]["labels"].get("floor") == "2"
            assert "team" not in document["metadata"]["labels"]
            assert document["metadata"]["annotations"]["note"] == "y"


async def test_an_obstacle_to_the_next_step_is_reported(setup: Setup) -> None:
    bench = setup.bench
    setup.stacks.unstable = "the ink is wet"
    await begin(bench)
    await asyncio.sleep(60)
    assert len(await machines(bench)) == 1
    assert conditions(await setup.stack())["ScalingUp"] == (
        "True",
        "ScalingUp",
        "Scaling up from 1 to 3 replicas is blocked because:\n* the ink is wet",
    )
    setup.stacks.unstable = ""
    await setup.change(ink="blue ")
    await setup.settled()


async def test_a_machine_is_deleted_after_the_provider_released_it(setup: Setup) -> None:
    bench = setup.bench
    await begin(bench)
    await setup.settled()
    setup.stacks.hold = "it is the leader"
    await setup.change(replicas=2)
    await asyncio.sleep(60)
    results = [
        machine for machine in await machines(bench) if "deletionTimestamp" in machine["metadata"]
    ]
    assert len(results) == 1
    assert "it is the leader" in conditions(await setup.stack())["ScalingDown"][2]
    setup.stacks.hold = ""
    await setup.settled(2)
    assert setup.stacks.left == [results[0]["metadata"]["name"]]


async def test_a_deletion_deletes_all_machines_without_the_leave_step(setup: Setup) -> None:
    bench = setup.bench
    await begin(bench)
    await setup.settled()
    await bench.client.delete(STACKS, key("blue"))
    await bench.until_gone(STACKS, "blue", within=30)
    assert not await machines(bench)
    assert not setup.stacks.left


async def test_a_missing_template_is_reported_and_awaited() -> None:
    async with stage() as setup:
        bench = setup.bench
        await begin(bench)
        await bench.client.delete(TEMPLATES, key("sheets"))
        other = {"spec": {"infrastructureRef": {"name": "other"}}}
        await setup.change(machineTemplate=other)
        await asyncio.sleep(20)
        status, _, message = conditions(await setup.stack())["ScalingUp"]
        assert status == "True"
        assert "PaperMachineTemplate other does not exist: create it, or name another" in message
        metadata = {**TEMPLATE["metadata"], "name": "other"}
        await bench.client.create(TEMPLATES, {**TEMPLATE, "metadata": metadata})
        await setup.settled()


async def test_machines_of_other_owners_are_left_alone() -> None:
    async with stage() as setup:
        bench = setup.bench
        await begin(bench)
        await setup.settled()
        (item, *_) = await machines(bench)
        labels = {"cluster.x-k8s.io/cluster-name": "blue", "cluster.x-k8s.io/control-plane": ""}
        metadata = {"name": "stranger", "namespace": "default", "labels": labels}
        document = {**item, "metadata": metadata}
        await bench.client.create(Machine.RESOURCE, document)
        await setup.change(replicas=1)
        await asyncio.sleep(30)
        assert len(await machines(bench)) == 4
        message = conditions(await setup.stack())["Available"][2]
        assert "stranger; delete them, or take their label" in message


class Counted(PaperStacks):
    """A provider that counts calls of two of its methods, and reports the conditions in `sight`."""

    def __init__(self) -> None:
        super().__init__()
        self.observed = self.compared = 0
        self.sight: list[Condition] = []

    async def bootstrap_config(
        self, context: MachineControlPlaneContext[Document], *, first: bool
    ) -> Document:
        self.compared += 1
        return await super().bootstrap_config(context, first=first)

    async def observe(self, context: MachineControlPlaneContext[Document]) -> ControlPlaneObserved:
        self.observed += 1
        observed = await super().observe(context)
        return replace(
            observed,
            conditions=self.sight,
            requeue_after=timedelta(seconds=10),
            requeue_reason="so",
        )


async def test_an_idle_control_plane_is_only_observed() -> None:
    stacks = Counted()
    async with stage(stacks) as setup:
        bench = setup.bench
        await begin(bench)
        await setup.settled()
        await asyncio.sleep(30)
        observed, compared = stacks.observed, stacks.compared
        await asyncio.sleep(100)
        assert (stacks.observed - observed, stacks.compared - compared) == (10, 0)
        stacks.sight = [conditions_of.false("Dry", "Wet", "it rains")]
        await asyncio.sleep(11)
        assert conditions(await setup.stack())["Dry"] == ("False", "Wet", "it rains")
        stacks.sight = []
        (machine, *_) = await machines(bench)
        name = machine["metadata"]["name"]
        for resource in (Machine.RESOURCE, INFRA, CONFIGS):
            patch: Document = {"metadata": {"labels": {"team": "nobody"}}}
            await bench.client.patch(resource, key(name), patch)
            await asyncio.sleep(1)
            live = await bench.client.get(resource, key(name))
            assert live["metadata"]["labels"]["team"] == "a"
        await bench.client.delete(SECRETS, key("blue-kubeconfig"))
        await bench.until(SECRETS, "blue-kubeconfig", bool, within=1)


class Torn(PaperStacks):
    async def bootstrap_config(
        self, context: MachineControlPlaneContext[Document], *, first: bool
    ) -> Document:
        raise KapyError("no paper left")


async def test_a_provider_that_fails_is_reported_and_makes_nothing() -> None:
    async with stage(Torn()) as setup:
        await begin(setup.bench)
        await asyncio.sleep(20)
        messages = ("Unknown", "InternalError", "KapyError: no paper left")
        assert conditions(await setup.stack())["Available"] == messages
        assert not await machines(setup.bench)


async def _whole(bench: ProviderBench) -> None:
    """Every Machine has what it names, and nothing is left over."""
    names = {machine["metadata"]["name"] for machine in await machines(bench)}
    for resource in (INFRA, CONFIGS):
        listed = (await bench.client.list(resource, "default")).items
        assert {document["metadata"]["name"] for document in listed} == names


async def test_a_provider_that_dies_after_any_write_makes_no_machine_twice() -> None:
    for writes in range(5, 26):
        async with provider_bench(KINDS) as bench:
            hands = Hands(bench)
            await begin(bench)
            await bench.client.patch(STACKS, key("blue"), {"spec": {"replicas": 1}})
            async with run_services(hands=hands.work):
                remaining = await short_lives(bench, partial(add, stacks=PaperStacks()), writes, 6)
                async with life(bench, partial(add, stacks=PaperStacks())):
                    await Setup(bench, PaperStacks(), hands).settled(1)
            assert max(hands.seen) == 1
            await _whole(bench)
        if remaining > 0:
            return
    raise AssertionError("it never came to rest")


@pytest.mark.parametrize("seed", range(2))
async def test_under_faults_the_limit_of_machines_holds(seed: int) -> None:
    async with provider_bench(KINDS) as bench:
        hands, stacks = Hands(bench), PaperStacks()
        faults = Faults(bench.transport, seed=seed)
        async with life(bench, partial(add, stacks=stacks), faults), run_services(hands=hands.work):
            setup = Setup(bench, stacks, hands)
            await begin(bench)
            await setup.settled()
            assert max(hands.seen) == 3
            await setup.change(version="v1.35.0")
            await bench.until(
                STACKS, "blue", lambda stack: stack["status"]["version"] == "v1.35.0", within=3600
            )
            await setup.settled()
            assert (max(hands.seen), faults.happened.total() > 0) == (4, True)
        await _whole(bench)
