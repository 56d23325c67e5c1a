"""Whole clusters of a provider of one's own under faults, for `kapy conformance run`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from kapy.testing.conformance.findings import Finding, Report, Result, State
from kapy.testing.simulation.campaign import exhaustive, shrunk, undisturbed_run
from kapy.testing.simulation.custom_provider import PROVIDER, CustomProvider
from kapy.testing.simulation.forking import EVERY_WRITE, Selects, Verdict, run_apart
from kapy.testing.simulation.guided import UNFENCED, random_faults
from kapy.testing.simulation.points import FAULT_KINDS, Point, PointKind
from kapy.testing.simulation.rules.rule import Violation
from kapy.testing.simulation.run import BadSimulation
from kapy.testing.simulation.scenarios import SCENARIOS, Scenario
from kapy.testing.simulation.story import replay_command

PLAYED: Final = ("create", "scale-workers", "upgrade-workers", "heal-worker", "delete")
"""The scenarios of each seed."""
FAULTS: Final = 3
MOST_CALLS: Final = 24
"""The most requests to the cloud that get a fault in one scenario with one seed."""
CLOUD_KINDS: Final = tuple(
    name
    for name, kind in FAULT_KINDS.items()
    if PointKind.CLOUD in kind.points and (name, PROVIDER) not in UNFENCED
)

_DONE, _ONCE, _GONE = "infra-machine/initialized", "infra-machine/once", "infra-machine/deletion"
_RULES: Final = {"cloud": _ONCE, "never-back": _ONCE, "no-orphan": _GONE, "finalizers": _GONE}

Broken = tuple[str, Finding]
"""A rule of the contracts, and where it is broken."""


def simulate_provider(
    provider: CustomProvider, seeds: Sequence[int], progress: Callable[[str], None]
) -> Iterator[Broken]:
    """Play each scenario with each seed; returns the broken rules, each once for a scenario."""
    for name in PLAYED:
        scenario = replace(SCENARIOS[name], provider=provider)
        reported: set[str] = set()
        for seed in seeds:
            progress(f"Simulated cluster: {name}, seed {seed}")
            for rule, finding in _failures(scenario, seed):
                if rule not in reported:
                    reported.add(rule)
                    yield rule, finding


def _failures(scenario: Scenario, seed: int) -> Iterator[Broken]:
    try:
        points = undisturbed_run(scenario, seed).points
    except BadSimulation as error:
        violations = () if error.outcome is None else error.outcome.violations
        rules = dict.fromkeys(_rule_of(scenario, violation) for violation in violations) or [_DONE]
        command = replay_command(scenario.name, seed, (), scenario.options)
        for rule in rules:
            yield rule, _finding(scenario, str(error), command)
        return
    for verdict in _verdicts(scenario, seed, points):
        if not verdict.violations:
            continue
        failure = shrunk(scenario, seed, verdict)
        command = replay_command(scenario.name, seed, failure.faults, scenario.options)
        faults = ", ".join(map(str, failure.faults))
        for violation in verdict.violations:
            text = f"scenario {scenario.name}, seed {seed}, {faults}: {violation}"
            yield _rule_of(scenario, violation), _finding(scenario, text, command)
        return  # one failing run per seed is reported


def _verdicts(
    scenario: Scenario, seed: int, points: Mapping[tuple[str, str], int]
) -> Iterator[Verdict]:
    """Try a fault at each write of the provider and at some requests to its cloud, and then random
    faults."""
    yield from exhaustive(
        scenario,
        seed,
        EVERY_WRITE,
        selects=lambda point, kind: (
            point.manager == PROVIDER
            and EVERY_WRITE[(point.number + seed) % len(EVERY_WRITE)] == kind
        ),
    )
    calls = points.get((PROVIDER, PointKind.CLOUD.value), 0)
    if calls:
        selects = _selects_calls(seed, -(-calls // MOST_CALLS))
        yield from exhaustive(scenario, seed, CLOUD_KINDS, selects=selects)
    own = {point: count for point, count in points.items() if point[0] == PROVIDER}
    faults = random_faults(seed, FAULTS, own)
    yield run_apart(scenario, seed, faults, undisturbed_run(scenario, seed))


def _selects_calls(seed: int, share: int) -> Selects:
    """Return a selection of one request to the cloud in `share`, with the kinds in turn."""

    def selects(point: Point, kind: str) -> bool:
        turn, remainder = divmod(point.number, share)
        return (
            point.manager == PROVIDER
            and remainder == 0
            and CLOUD_KINDS[(turn + seed) % len(CLOUD_KINDS)] == kind
        )

    return selects


def _rule_of(scenario: Scenario, violation: Violation) -> str:
    rule = _RULES.get(violation.rule, _DONE)
    return _GONE if scenario.name == "delete" else rule


def _finding(scenario: Scenario, text: str, command: str) -> Finding:
    assert scenario.provider is not None
    return Finding("", scenario.provider.machine.resource.kind, "", text, f"replay it: {command}")


def with_simulation(report: Report, broken: Iterable[Broken], seeds: Sequence[int]) -> Report:
    """Return a report with the results of the simulation."""
    findings: dict[str, list[Finding]] = {rule: [] for rule in (_DONE, _ONCE, _GONE)}
    for rule, finding in broken:
        findings[rule].append(finding)
    count = len(seeds) * len(PLAYED)
    return replace(
        report, results=tuple(_merge(result, findings, count) for result in report.results)
    )


def _merge(result: Result, by_rule: dict[str, list[Finding]], count: int) -> Result:
    findings = by_rule.get(result.rule.id)
    if findings is None:
        return result
    if findings:
        return Result(result.rule, State.BROKEN, findings=(*result.findings, *findings))
    if result.state is State.NOT_RUN:
        return Result(result.rule, State.PASSED, f"{count} clusters simulated")
    return result
