"""The fault tier: compare an object's lifecycle under faults with its lifecycle without faults.

Faults are crashes of the provider between writes, lost requests and responses, conflicts, stale
lists, broken watches and repeated events; the same seed gives the same faults. Afterwards the
result must be the same: the flags are set, nothing is created twice, and nothing is left over.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from kapy._aio.clock import Clock
from kapy._aio.services import run_services
from kapy.client.kinds import Kinds
from kapy.kube import Document
from kapy.kube.errors import NotFound
from kapy.testing.conformance.behaviour.lifecycle_scenarios import (
    Broken,
    LifecycleScenario,
    Reached,
    scenario_for,
)
from kapy.testing.conformance.check_results import CheckResults
from kapy.testing.conformance.embedded import embedded
from kapy.testing.conformance.errors import CannotRun, SubjectError
from kapy.testing.conformance.fault_injection import FaultInjector
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.fixture import Fixture, quote_writes
from kapy.testing.conformance.provider_under_test import Kind, ProviderUnderTest, Timeouts
from kapy.testing.conformance.run_context import RunContext
from kapy.testing.conformance.session import open_session
from kapy.testing.conformance.write_log import Write

_NAMESPACE: Final = "conformance-faults"
_MEND_ONCE: Final = (
    "give what is made a name that can be computed again, and create it only where it is not there"
)


@dataclass
class Outcome:
    """The outcome of one lifecycle. created: the writes that created the objects which existed when
    the object was complete; remaining: the writes of the objects that remained after its deletion.
    """

    done: bool = False
    is_gone: bool = False
    created: list[Write] = field(default_factory=list)
    remaining: list[Write] = field(default_factory=list)
    findings: list[Broken] = field(default_factory=list)


@dataclass(frozen=True)
class FaultRun:
    """The parameters of all comparisons. light: passed to `environment.embedded`."""

    provider: ProviderUnderTest
    clock: Clock
    light: bool
    timeouts: Timeouts
    context: RunContext


@dataclass(frozen=True)
class FaultComparison:
    """Compares the lifecycles of one kind's objects."""

    run: FaultRun
    kind: Kind
    scenario: LifecycleScenario

    async def compare(self, seeds: Sequence[int], results: CheckResults) -> None:
        """Compare lifecycles under faults with one without."""
        once = self.scenario.once
        good = await self._try_scenario(None, results)
        if good is None:
            return
        if not (good.done and good.is_gone):
            results.not_run[once] = "not even a day without faults comes to its end"
            return
        for seed in seeds:
            bad = await self._try_scenario(seed, results)
            if bad is not None:
                results.passed[once] += 1
                _compare(
                    self.kind,
                    self.scenario,
                    f"with the faults of seed {seed}, ",
                    good,
                    bad,
                    results,
                )

    async def _try_scenario(self, seed: int | None, results: CheckResults) -> Outcome | None:
        day = "without faults" if seed is None else f"with the faults of seed {seed}"
        self.run.context.report_progress(f"{self.kind.resource.kind} {day}")
        try:
            async with asyncio.timeout(self.run.timeouts.whole):
                return await self._run_scenario(seed)
        except* TimeoutError:
            why = f"it took longer than {self.run.timeouts.whole:g} seconds"
        except* (SubjectError, CannotRun) as errors:
            why = str(errors.exceptions[0])
        results.not_run[self.scenario.once] = f"{day}: {why}"
        return None

    async def _run_scenario(self, seed: int | None) -> Outcome:
        run, began = self.run, asyncio.Event()
        provider, network = run.provider, run.provider.launcher.network
        async with embedded(provider, clock=run.clock, light=run.light) as environment:
            assert environment.server is not None  # the kit's own server
            injector = FaultInjector(environment.server, seed or 0, network=network)

            async def living() -> None:
                await injector.run_with_restarts(provider, environment, began)

            async with open_session(environment, provider, run.timeouts, run.context) as session:
                try:
                    async with run_services(provider=living):
                        await began.wait()
                        fixture = await session.fixture(self.kind, _NAMESPACE)
                        return await _play_lifecycle(
                            fixture, self.scenario, injector, raging=seed is not None
                        )
                finally:
                    injector.shut_down()


async def add_fault_results(run: FaultRun, seeds: Sequence[int], results: CheckResults) -> None:
    """Add the findings of the fault tier to the results."""
    for kind in run.provider.kinds:
        scenario = scenario_for(kind)
        if scenario is not None:
            await FaultComparison(run, kind, scenario).compare(seeds, results)


async def _play_lifecycle(
    fixture: Fixture, scenario: LifecycleScenario, injector: FaultInjector, *, raging: bool
) -> Outcome:
    day = Outcome()
    if raging:
        injector.start_faults()
    await scenario.begin(fixture)
    day.done = await _wait_with_and_without_faults(scenario.is_reached, fixture, injector)
    injector.stop_faults()
    await fixture.settle()
    created = {str(write.key): write for write in fixture.writes() if write.created}
    day.created = [
        write for write in created.values() if not _is_going(await _current_state(fixture, write))
    ]
    day.findings = scenario.faults(fixture)
    if raging:
        injector.start_faults()
    await scenario.end(fixture)
    day.is_gone = await _wait_with_and_without_faults(scenario.is_gone, fixture, injector)
    injector.stop_faults()
    await fixture.settle()
    created = {str(write.key): write for write in fixture.writes() if write.created}
    day.remaining = [
        write for write in created.values() if await _current_state(fixture, write) is not None
    ]
    return day


async def _wait_with_and_without_faults(
    reached: Reached, fixture: Fixture, injector: FaultInjector
) -> bool:
    """Wait for a state under faults, then without them; return whether it was reached."""
    if await reached(fixture):
        return True
    injector.stop_faults()
    return await reached(fixture)


async def _current_state(fixture: Fixture, write: Write) -> Document | None:
    """Return the current state of a created object, None if it does not exist."""
    assert write.after is not None  # it was created
    resource = await Kinds(fixture.client).of(write.after)
    try:
        result: Document = await fixture.client.get(resource, write.key)
    except NotFound:
        return None
    return result


def _is_going(document: Document | None) -> bool:
    return document is None or "deletionTimestamp" in document["metadata"]


def _compare(
    kind: Kind,
    scenario: LifecycleScenario,
    day: str,
    good: Outcome,
    bad: Outcome,
    results: CheckResults,
) -> None:
    what = kind.resource.kind
    for rule, finding in bad.findings:
        results.findings[rule].append(replace(finding, evidence=day + finding.evidence))
    if not bad.done:
        remedy = "begin where the last try ended: compute again what is there, and what is not"
        evidence = f"{day}it was never done, also when they were over"
        results.findings[scenario.done].append(Finding("", what, "", evidence, remedy))
        return
    if twice := _more(bad.created, good.created):
        evidence = f"{day}there is more than there should be: {quote_writes(twice)}"
        results.findings[scenario.once].append(Finding("", what, "", evidence, _MEND_ONCE))
    if not bad.is_gone:
        evidence = f"{day}it was deleted and never went, also when they were over"
        remedy = "take what is gone already for freed, then remove the finalizer"
        results.findings[scenario.gone].append(
            Finding("", what, "metadata.finalizers", evidence, remedy)
        )
    elif rest := _more(bad.remaining, good.remaining):
        evidence = f"{day}it is gone, and this is not: {quote_writes(rest)}"
        remedy = "find what was made by its name or its label, not by what was noted in a status"
        results.findings[scenario.gone].append(Finding("", what, "", evidence, remedy))


def _more(bad: list[Write], good: list[Write]) -> list[Write]:
    """Return the objects of those kinds of which there are more than without faults."""
    usual, counter = Counter(map(_kind, good)), Counter(map(_kind, bad))
    return [write for write in bad if counter[_kind(write)] > usual[_kind(write)]]


def _kind(write: Write) -> tuple[str, str]:
    return write.group, write.plural
