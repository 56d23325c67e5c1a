"""Boot data by the SDK: mistakes and failures of providers, crashes and faults."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Any

import pytest
import pytest_asyncio

from kapy.api.condition import Condition, V1Beta1Condition
from kapy.api.machine import Machine
from kapy.api.names import Label
from kapy.engine.runtime import Runtime
from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.kube.names import EVENTS, SECRETS
from kapy.sdk import (
    BootstrapContext,
    BootstrapData,
    BootstrapProvider,
    Unchanged,
    Waiting,
    add_bootstrap,
    in_v1beta1,
)
from kapy.sdk.reports import ProviderMistake
from kapy.testing.faults import Faults
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
    sheet,
)
from tests.sdk.paper_bootstrap import Letterhead, PaperBoot, PaperConfig
from tests.sdk.provider_faults import life, short_lives


@pytest_asyncio.fixture
async def setup() -> AsyncIterator[Setup]:
    async with bootstrap_setup() as result:
        yield result


async def test_a_secret_of_another_kind_is_not_used(setup: Setup) -> None:
    bench = setup.bench
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "u", "controller": True}
    metadata: Document = {"name": "plane-0", "namespace": "default", "ownerReferences": [owner]}
    metadata["labels"] = {Label.CLUSTER_NAME: "blue"}
    theirs = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}
    await bench.client.create(SECRETS, {**theirs, "data": {"value": ""}})
    await bench.cluster("blue", provisioned=True)
    await machine(bench, "plane-0", control_plane=True)
    config = await bench.until(
        RESOURCE, "plane-0", lambda document: "DataSecretAvailable" in conditions(document)
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
async def test_a_failing_provider_is_called_again_and_its_failure_reported(
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
            available = conditions(config)["DataSecretAvailable"]
            assert available == ("Unknown", "InternalError", message)
            old = config["status"]["deprecated"]["v1beta1"]["conditions"]
            assert {item["type"]: item["message"] for item in old} == {
                "Ready": message,
                "DataSecretAvailable": message,
            }
            (noted,) = (await bench.client.list(EVENTS, "default")).items
            assert (noted["type"], noted["reason"]) == ("Warning", "FailedBootstrapData")
            assert noted["message"] == event
            boot.error = None
            await bench.until(RESOURCE, "plane-0", is_made)


class Restless(Letterhead):
    async def refresh(
        self, context: BootstrapContext[Document], bootstrap_data: BootstrapData
    ) -> BootstrapData | Unchanged | Waiting:
        return BootstrapData(value=b"another one")


async def test_changed_data_of_a_machine_is_an_error_and_not_written() -> None:
    async with provider_bench([RESOURCE]) as bench:
        add_bootstrap(bench.runtime, RESOURCE, Restless(bench.clock), finalizer=FINALIZER)
        async with bench.running():
            await bench.cluster("blue", provisioned=True)
            await machine(bench, "worker-0")
            await bench.until(RESOURCE, "worker-0", is_made)
            entries = {"spec": {"bootstrap": {"dataSecretName": "worker-0"}}}
            await bench.client.patch(Machine.RESOURCE, key("worker-0"), entries)
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


class Numbered(BootstrapProvider[Document]):
    """Another sheet whenever it is asked: nobody may see two for one machine."""

    initialises = True
    asked = 0

    async def data(self, context: BootstrapContext[Document]) -> BootstrapData | Waiting:
        Numbered.asked += 1
        return BootstrapData(value=f"{context.first} {Numbered.asked}".encode())


async def test_a_crash_after_any_write_causes_no_second_secret() -> None:
    add = partial(_add, provider=Numbered())
    for writes in range(1, 12):
        async with provider_bench([RESOURCE]) as bench:
            await bench.cluster("blue", provisioned=True)
            await machine(bench, "plane-0", control_plane=True)
            remaining = await short_lives(bench, add, writes)
            first = await sheet(bench, "plane-0")
            async with life(bench, add):
                await bench.until(RESOURCE, "plane-0", is_made)
                last_sheet = await sheet(bench, "plane-0")
            assert last_sheet.startswith("True")
            assert first in ("", last_sheet)
        if remaining > 0:
            return
    raise AssertionError("it never came to rest")


@pytest.mark.parametrize("seed", range(3))
async def test_under_faults_each_machine_has_one_secret_and_one_machine_is_the_first(
    seed: int,
) -> None:
    async with provider_bench([RESOURCE]) as bench:
        faults = Faults(bench.transport, seed=seed)
        async with life(bench, partial(_add, provider=Numbered()), faults):
            await bench.cluster("blue", provisioned=True)
            for name in ("plane-0", "plane-1", "worker-0"):
                await machine(bench, name, control_plane=name.startswith("plane"))
            sheets_by_name: dict[str, set[str]] = {}
            for step in range(1200):
                await asyncio.sleep(0.1)
                for name in ("plane-0", "plane-1", "worker-0"):
                    sheets_by_name.setdefault(name, set()).add(await sheet(bench, name))
                if step == 300:
                    await initialized(bench)
            assert faults.happened
        sheets = [results - {""} for results in sheets_by_name.values()]
        assert all(len(results) == 1 for results in sheets)
        assert sum(text.startswith("True") for results in sheets for text in results) == 1


def _add(runtime: Runtime, provider: BootstrapProvider[Any]) -> None:
    add_bootstrap(runtime, RESOURCE, provider)
