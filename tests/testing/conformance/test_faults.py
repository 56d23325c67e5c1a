"""The fault tier: good providers come through bad days; what is wrong on those alone is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import Any, Final

import pytest

from kapy._aio.services import run_services
from kapy.kube import Document
from kapy.sdk import Runtime, add_ipam
from kapy.testing import on_virtual_time
from kapy.testing.conformance.behaviour import ipam
from kapy.testing.conformance.fault_injection import FaultInjector
from kapy.testing.conformance.findings import Report, State
from kapy.testing.conformance.in_process import InProcess
from kapy.testing.conformance.provider_under_test import Kind, ProviderUnderTest
from kapy.testing.conformance.run import run_checks
from tests.sdk.range_pool import GlobalRangePool, RangePool, Ranges
from tests.testing.conformance.behaviour.providers import in_memory
from tests.testing.conformance.test_by_hand import CHECKS, broken, subject

SEEDS: Final = range(4)
POOL: Final[Document] = {
    "metadata": {},
    "spec": {"first": "10.0.0.1", "last": "10.0.0.9", "prefix": 24},
}


def addresses() -> ProviderUnderTest:
    """Pools of the SDK's, in a namespace and without one."""

    def add(runtime: Runtime) -> None:
        add_ipam(runtime, RangePool, Ranges())
        add_ipam(runtime, GlobalRangePool, Ranges(), finalizer="ipam.example.dev/global")

    kinds = [
        Kind.of("ipam", item, {"kind": item.RESOURCE.kind, **POOL})
        for item in (RangePool, GlobalRangePool)
    ]
    return ProviderUnderTest("addresses", tuple(kinds), InProcess(add))


GOOD: Final[dict[str, Callable[[], ProviderUnderTest]]] = {
    "bootstrap": partial(subject, "bootstrap-config"),
    "control plane": partial(subject, "control-plane"),
    "ipam": partial(subject, "ipam"),
    "in memory": in_memory,
    "addresses": addresses,
}
WRONG: Final = [
    ("bootstrap-config", "once"),
    ("control-plane", "once"),
    ("ipam", "release: forgets"),
]
"""Wrong in a way that no day without faults shows."""


async def run_with_faults(provider: ProviderUnderTest, *, light: bool = True) -> Report:
    return await run_checks(provider, [], light=light, seeds=SEEDS)


@pytest.mark.parametrize("name", GOOD)
async def test_a_good_provider_survives_injected_faults(name: str) -> None:
    report = await run_with_faults(GOOD[name]())
    assert {item.rule.id: item.findings for item in report.with_state(State.BROKEN)} == {}
    passed = [
        item for item in report.with_state(State.PASSED) if item.rule.name in ("once", "unique")
    ]
    assert {int(item.reason.partition(" ")[0]) % len(SEEDS) for item in passed} == {0}


@pytest.mark.parametrize(("role", "wrong"), WRONG)
async def test_some_defects_need_injected_faults(role: str, wrong: str) -> None:
    assert broken(await run_checks(subject(role, wrong), CHECKS[role], light=True)) == set()
    assert broken(await run_with_faults(subject(role, wrong))) == {wrong.partition(":")[0]}


async def test_injected_faults_can_be_replayed() -> None:
    run = [await run_with_faults(subject("control-plane", "once")) for _ in range(2)]
    evidence_of_runs = [
        [finding.evidence for item in day.results for finding in item.findings] for day in run
    ]
    assert evidence_of_runs[0] == evidence_of_runs[1] != []


async def test_addresses_of_the_sdk_keep_every_rule() -> None:
    report = await run_checks(addresses(), ipam.CHECKS, light=True)
    passed = {item.rule.id for item in report.with_state(State.PASSED)}
    assert passed == {check.rule for check in ipam.CHECKS}


@dataclass
class SlowStart:
    """A launcher whose first start never ends, because the provider is killed meanwhile."""

    injector: FaultInjector
    starts: list[str] = field(default_factory=list)

    @asynccontextmanager
    async def running(self, environment: Any, limits: Any) -> AsyncIterator[None]:
        self.starts.append("begun")
        try:
            if len(self.starts) == 1:
                self.injector.crash.set()
                await asyncio.Event().wait()
            yield
        finally:
            self.starts.append("ended")


@on_virtual_time
async def test_a_provider_that_is_killed_while_it_starts_is_started_again() -> None:
    injector = FaultInjector(SimpleNamespace(handler=None), 0, network=False)  # type: ignore[arg-type]
    launcher, began = SlowStart(injector), asyncio.Event()
    provider: Any = SimpleNamespace(launcher=launcher)
    environment: Any = None
    living = partial(injector.run_with_restarts, provider, environment, began)
    async with asyncio.timeout(60), run_services(provider=living):
        await began.wait()
    assert launcher.starts == ["begun", "ended", "begun", "ended"]
