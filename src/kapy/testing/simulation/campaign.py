"""Runs many simulations: one for each seed, one for every fault at every point, or random ones for
some time. Reduces the faults of a failing run to those that matter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from kapy.testing.simulation.forking import Selects, Verdict, always, explore, run_apart
from kapy.testing.simulation.points import Fault
from kapy.testing.simulation.run import BadSimulation, Baseline, Outcome, run
from kapy.testing.simulation.scenarios import Scenario, scenario_named
from kapy.testing.simulation.story import story_of

_Fails = Callable[[Sequence[Fault]], bool]


@dataclass(frozen=True, slots=True)
class Failure:
    """A failing run with only the faults that matter. story: the report about the run for users."""

    scenario: str
    seed: int
    faults: tuple[Fault, ...]
    rules: tuple[str, ...]
    story: str


def baseline_of(name: str, seed: int) -> Baseline:
    """Return the undisturbed run of a scenario of kapy. Raises BadSimulation if that fails."""
    return undisturbed_run(scenario_named(name), seed)


@cache
def undisturbed_run(scenario: Scenario, seed: int) -> Baseline:
    """Return the undisturbed run of a scenario. Raises BadSimulation if that breaks a rule."""
    outcome = run(scenario, seed)
    if not outcome.is_good or outcome.baseline is None:
        said = "; ".join(map(str, outcome.violations))
        text = f"scenario {scenario.name}, seed {seed} fails without a fault: {said}"
        raise BadSimulation(text, outcome)
    return outcome.baseline


def play(scenario: Scenario, seed: int, faults: Sequence[Fault]) -> Outcome:
    """Play a scenario with some faults, compared with the undisturbed run."""
    return run(scenario, seed, faults, baseline=undisturbed_run(scenario, seed))


def shrunk(scenario: Scenario, seed: int, verdict: Verdict) -> Failure:
    """Reduce the faults of a failing verdict to those that matter, and return the failure with its
    report.
    """
    baseline = undisturbed_run(scenario, seed)

    def fails(faults: Sequence[Fault]) -> bool:
        return bool(run_apart(scenario, seed, faults, baseline).violations)

    faults = shrink(verdict.faults, fails)
    outcome = run(scenario, seed, faults, baseline=baseline)
    violations = outcome.violations or verdict.violations
    return Failure(
        scenario.name,
        seed,
        faults,
        tuple(dict.fromkeys(violation.rule for violation in violations)),
        story_of(scenario.name, seed, faults, violations, outcome.steps, scenario.options),
    )


def exhaustive(
    scenario: Scenario,
    seed: int,
    kinds: Sequence[str],
    *,
    jobs: int = 1,
    selects: Selects = always,
    merges: bool = False,
) -> list[Verdict]:
    """Try every kind of fault at every point of a scenario. merges: whether to end a run in a state
    that a good run has reached, too."""
    return explore(scenario, seed, kinds, jobs=jobs, selects=selects, merges=merges)


def shrink(faults: Sequence[Fault], fails: _Fails) -> tuple[Fault, ...]:
    """Return a part of the faults that still fails, and of which none can be left out.

    fails: runs the scenario with some faults. It is the algorithm of delta debugging.
    """
    remaining, parts = list(faults), 2
    while len(remaining) > 1:
        size = max(1, len(remaining) // parts)
        for start in range(0, len(remaining), size):
            fewer = remaining[:start] + remaining[start + size :]
            if fewer and fails(fewer):
                remaining, parts = fewer, max(2, parts - 1)
                break
        else:
            if size == 1:
                break
            parts = min(len(remaining), parts * 2)
    return tuple(remaining)
