"""Behavioural conformance: run a provider and check its behaviour.

Progress is reported periodically, so that a long run does not look stuck.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from heapq import nlargest
from typing import Final

from kapy._aio.clock import Clock, loop_clock
from kapy._aio.services import run_services
from kapy.kube.errors import KapyError
from kapy.testing.conformance.behaviour import setup
from kapy.testing.conformance.behaviour.check import Check
from kapy.testing.conformance.behaviour.setup import ROLE_SETUPS
from kapy.testing.conformance.check_results import CheckResults, report
from kapy.testing.conformance.cleanup import delete_objects
from kapy.testing.conformance.embedded import embedded
from kapy.testing.conformance.environment import Environment
from kapy.testing.conformance.errors import CannotRun, NotApplicable, SubjectError
from kapy.testing.conformance.fault_tier import FaultRun, add_fault_results
from kapy.testing.conformance.findings import Finding, Report
from kapy.testing.conformance.fixture import CLUSTER, ONLY, Session
from kapy.testing.conformance.provider_under_test import (
    REAL,
    VIRTUAL,
    Kind,
    Limits,
    ProviderUnderTest,
    Timeouts,
)
from kapy.testing.conformance.rules import RULES
from kapy.testing.conformance.run_context import RunContext, discard_progress
from kapy.testing.conformance.session import open_session

EVERY: Final = 15.0
"""The interval of progress reports in seconds. It needs a timer, because a wait for a provider has
no events of its own."""
_MOST: Final = 5
"""The maximum number of rules that are named in a line."""
_INFRA_CLUSTER: Final = "infra-cluster"

LIMITS: Final = {0: Limits(), 1: Limits(ONLY, ONLY)}


async def run_checks(
    provider: ProviderUnderTest,
    checks: Sequence[Check],
    *,
    clock: Clock | None = None,
    light: bool = False,
    timeouts: Timeouts | None = None,
    seeds: Sequence[int] = (),
    context: RunContext | None = None,
) -> Report:
    """Run the checks on an embedded API server and return the result of every behaviour rule.

    light: see `environment.embedded`. seeds: the seeds of the fault tier. context: options of the
    run; receives its leftovers. Raises SubjectError if the provider does not start.
    """
    timeouts = timeouts or (REAL if provider.launcher.network else VIRTUAL)
    results, context = CheckResults(), context or RunContext()
    async with (
        time_limit(checks, timeouts, results, context),
        embedded(provider, clock=clock or loop_clock(), light=light) as environment,
    ):
        await run_in_environment(environment, provider, checks, timeouts, results, context)
    if seeds:
        context.report_progress(f"Bad days: {len(seeds)} for each kind")
        run = FaultRun(provider, clock or loop_clock(), light, timeouts, context)
        await add_fault_results(run, seeds, results)
    return report(provider, results, context.leftovers)


@asynccontextmanager
async def time_limit(
    checks: Sequence[Check], timeouts: Timeouts, results: CheckResults, context: RunContext
) -> AsyncIterator[None]:
    """Stop the body at the time limit for all checks; checks without a result count as not run."""
    whole = timeouts.whole * context.rounds(len(checks))
    try:
        async with asyncio.timeout(whole):
            yield
    except TimeoutError:
        for check in checks:
            if results.result(RULES[check.rule]) is None:
                why = f"the time for all checks ({whole:g} seconds) was over"
                results.not_run[check.rule] = why


async def run_in_environment(
    environment: Environment,
    provider: ProviderUnderTest,
    checks: Sequence[Check],
    timeouts: Timeouts,
    results: CheckResults,
    context: RunContext,
) -> None:
    """Run the checks stage by stage. Raises SubjectError if the provider does not start."""
    context.report_progress(
        _describe_capacity(required_capacity(provider, checks, context.parallel))
    )
    telling = progress(results, context) if provider.launcher.network else nullcontext()
    async with open_session(environment, provider, timeouts, context) as session, telling:
        stages = sorted({check.stage for check in checks})
        for stage in stages:
            chosen = [check for check in checks if check.stage == stage]
            context.report_progress(
                f"Part {stages.index(stage) + 1} of {len(stages)}: {len(chosen)} checks, "
                f"{timeouts.check:g} seconds at most for each"
            )
            if stage and not provider.launcher.restarts:
                for check in chosen:
                    results.not_run[check.rule] = "somebody else runs the provider"
            elif stage in LIMITS:
                await _run_stage(session, chosen, LIMITS[stage], (results, context))
            else:
                await _run_concurrently(session, chosen, results, context)


async def _run_stage(
    session: Session, checks: Sequence[Check], limits: Limits, both: tuple[CheckResults, RunContext]
) -> None:
    """Run checks concurrently while the provider runs; if it ends, the rest is not run."""
    started, results = False, both[0]
    try:
        async with session.provider.launcher.running(session.environment, limits):
            started = True
            await _run_concurrently(session, checks, *both, clearing=True)
            await delete_objects(
                session, session.environment.namespaces - session.cleaned_namespaces
            )
    except SubjectError as error:
        if not started and limits == Limits():
            raise
        if not started:
            for check in checks:
                results.findings[check.rule].append(_start_failure(session.provider, limits, error))
            return
        for check, kind in _planned_runs(session.provider, checks, results):
            if (check, kind.resource) not in results.finished:
                results.not_run[check.rule] = str(error)
        results.provider_error = str(error)


def _start_failure(provider: ProviderUnderTest, limits: Limits, error: SubjectError) -> Finding:
    flags = f"--namespace={limits.namespace} --watch-filter={limits.watch_filter}"
    remedy = "make both flags known to the manager"
    return Finding("", provider.name, flags, str(error), remedy)


async def _run_concurrently(
    session: Session,
    checks: Sequence[Check],
    results: CheckResults,
    context: RunContext,
    *,
    clearing: bool = False,
) -> None:
    """Run checks concurrently. clearing: whether to delete the objects of a check as soon as it is
    over.
    """
    runs = _planned_runs(session.provider, checks, results)
    turns = asyncio.Semaphore(context.parallel or len(runs) or 1)

    async def run(number: int, check: Check, kind: Kind) -> None:
        name = f"{session.environment.prefix}-{check.stage}-{number}"
        async with turns:
            results.running[name] = check.rule
            await _run_check(session, check, kind, name, results)
            if clearing:
                await delete_objects(session, (name,))
            del results.running[name]

    async with asyncio.TaskGroup() as group:
        for number, (check, kind) in enumerate(runs):
            group.create_task(run(number, check, kind), name=check.rule)


def _planned_runs(
    provider: ProviderUnderTest, checks: Iterable[Check], results: CheckResults
) -> list[tuple[Check, Kind]]:
    runs = []
    for check in checks:
        kinds = provider.kinds if check.role == "clusterctl" else provider.kinds_of_role(check.role)
        if unseen := provider.kinds_without_example.get(check.role):
            results.not_run[check.rule] = f"there is no example of {', '.join(unseen)}"
        elif not kinds:
            results.not_applicable[check.rule] = f"no kind of {check.role}"
        elif check.role == "clusterctl":
            kinds = sorted(kinds, key=lambda kind: kind.role not in ROLE_SETUPS)[:1]
        runs += [(check, kind) for kind in kinds]
    return runs


async def _run_check(
    session: Session, check: Check, kind: Kind, name: str, results: CheckResults
) -> None:
    """Run a check in a namespace of its own and record its findings or its error."""
    try:
        async with asyncio.timeout(session.timeouts.check):
            # Clouds may name resources after the Cluster, so each check has another Cluster name.
            cluster = f"{CLUSTER}{name.removeprefix(session.environment.prefix)}"
            fixture = await session.fixture(kind, name, cluster)
            result = [finding async for finding in check.run(fixture)]
    except TimeoutError:
        results.not_run[check.rule] = f"it took longer than {session.timeouts.check:g} seconds"
    except NotApplicable as error:
        results.not_applicable[check.rule] = str(error)
    except CannotRun as error:
        results.not_run[check.rule] = str(error)
    except KapyError as error:
        results.not_run[check.rule] = f"{kind.resource.kind}: {error}"
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        # Providers may write objects of any shape.
        text = f"{type(error).__name__}: {error}"
        results.not_run[check.rule] = (
            f"{kind.resource.kind}: something has an unexpected form: {text}"
        )
    else:
        results.findings[check.rule] += result
        results.passed[check.rule] += 1
    results.finished.add((check, kind.resource))


def progress(results: CheckResults, context: RunContext) -> AbstractAsyncContextManager[None]:
    """Report how many checks have finished, while the body runs."""
    if context.report_progress is discard_progress:
        return nullcontext()

    async def tell() -> None:
        while True:
            await asyncio.sleep(EVERY)
            context.report_progress(_progress_line(results))

    return run_services(progress=tell)


def _progress_line(results: CheckResults) -> str:
    """Return a line about the number of checks that have finished."""
    names = sorted(set(results.running.values()))
    some = ", ".join(names[:_MOST])
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return f"{len(results.finished)} checks are over; at work: {some or 'none'}{more}"


def required_capacity(
    provider: ProviderUnderTest, checks: Sequence[Check], parallel: int = 0
) -> dict[str, int]:
    """Return the most objects of each provider kind that exist at the same time, by kind.

    parallel: the most concurrent checks, 0 for no limit.
    """
    stages = {check.stage for check in checks}
    result = {item.resource.kind: 0 for item in provider.kinds}
    for number in stages:
        runs = [_objects_of_run(provider, *run) for run in _runs_of_stage(provider, checks, number)]
        for kind in result:
            counts = [run.get(kind, 0) for run in runs]
            most = sum(nlargest(parallel, counts) if parallel else counts)
            result[kind] = max(result[kind], most)
    return {kind: count for kind, count in result.items() if count}


def _describe_capacity(needs: dict[str, int]) -> str:
    """Describe the required capacity in a sentence."""
    counts = " and ".join(f"{count} {kind}" for kind, count in needs.items())
    return (
        f"The provider needs room for {counts} at the same time. All objects are deleted in the "
        "end. --parallel N does fewer checks at a time, which needs less room and more time."
    )


def _runs_of_stage(
    provider: ProviderUnderTest, checks: Iterable[Check], number: int
) -> list[tuple[Check, Kind]]:
    runs = []
    for check in checks:
        if check.stage == number and not provider.kinds_without_example.get(check.role):
            whole = check.role == "clusterctl"
            kinds = provider.kinds[:1] if whole else provider.kinds_of_role(check.role)
            runs += [(check, kind) for kind in kinds]
    return runs


def _objects_of_run(provider: ProviderUnderTest, check: Check, kind: Kind) -> dict[str, int]:
    """Return how many objects one run of a check creates, by kind."""
    if check.role == "clusterctl":
        return {item.resource.kind: 1 for item in provider.kinds}
    result = {kind.resource.kind: check.objects_created}
    clusters = provider.kinds_of_role(_INFRA_CLUSTER)
    if clusters and kind.role in setup.ROLE_SETUPS and setup.ROLE_SETUPS[kind.role].needs_cluster:
        result.setdefault(clusters[0].resource.kind, 1)
    return result
