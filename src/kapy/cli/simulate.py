"""`kapy simulate`."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kapy.cli.flags import command
from kapy.kube.digits import has_only_digits

if TYPE_CHECKING:
    from kapy.testing.simulation.forking import Verdict
    from kapy.testing.simulation.points import Fault
    from kapy.testing.simulation.run import Outcome
    from kapy.testing.simulation.scenarios import Scenario

FAILED = 1
MOST_DIGITS = 4
"""The most digits of the number of random faults."""


@command()
@click.option(
    "--scenario", "names", multiple=True, metavar="NAME", help="Play this one. Usual: all."
)
@click.option("--seed", type=click.IntRange(0), default=0, metavar="N", help="Of every decision.")
@click.option(
    "--faults",
    default="3",
    metavar="FAULTS",
    help="KIND@POINT,… or a number of random ones, or none. Usual: 3.",
)
@click.option(
    "--every",
    metavar="KINDS",
    help="Try these kinds of faults, comma-separated, one by one at each point.",
)
@click.option(
    "--sample", type=click.IntRange(1), default=1, help="With --every: one point in so many."
)
@click.option("--jobs", type=click.IntRange(1), default=1, help="With --every: runs at a time.")
@click.option(
    "--trace", metavar="FILE", help="Write the steps as JSON lines; - is standard output."
)
@click.option("--until", type=float, metavar="SECONDS", help="End at this virtual time, unjudged.")
@click.option("--list", "listed", is_flag=True, help="List scenarios, kinds of fault and rules.")
def simulate(
    names: tuple[str, ...],
    seed: int,
    faults: str,
    every: str | None,
    sample: int,
    jobs: int,
    trace: str | None,
    until: float | None,
    listed: bool,
) -> int:
    """Play scenarios with faults on virtual time, and check the rules at every write.

    All of kapy's managers run in this process, against an API server and a cloud in memory. The
    seed decides the order of tasks, the latencies and the random faults: the same seed and version
    give the same trace. A failing run is reduced to the faults that matter, and told with the
    command that plays it again. The exit code is 1 if a rule is broken.
    """
    from kapy.testing.simulation.scenarios import SCENARIOS, scenario_named

    if listed:
        _print_catalogue()
        return 0
    scenarios = [scenario_named(name) for name in names or SCENARIOS]
    if (trace or until is not None) and len(scenarios) != 1:
        raise click.UsageError("--trace and --until need one --scenario")
    _check_options(faults, every, sample, jobs, trace, until)
    failures = 0
    # What the managers log of faults is expected, and not part of the result.
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        for scenario in scenarios:
            if every:
                failures += _try_every_point(scenario, seed, every, sample, jobs)
            else:
                failures += _play(scenario, seed, faults, trace, until)
    finally:
        logging.disable(before)
    return FAILED if failures else 0


def _check_options(
    faults: str,
    every: str | None,
    sample: int,
    jobs: int,
    trace: str | None,
    until: float | None,
) -> None:
    """Refuse options that would have no effect, before minutes of work. Raises UsageError."""
    if until is not None and not until >= 0:  # nan is no number, either
        raise click.UsageError(f"--until is {until:g}; give seconds from 0")
    if not faults.strip(", "):
        raise click.UsageError("--faults names no fault; `none` plays without faults")
    if has_only_digits(faults) and len(faults) > MOST_DIGITS:
        raise click.UsageError(f"--faults {faults}: give at most {MOST_DIGITS} digits")
    if every and (trace or until is not None):
        raise click.UsageError("--every plays many runs: it has no --trace and no --until")
    if not every and (sample != 1 or jobs != 1):
        raise click.UsageError("--sample and --jobs need --every")
    if trace and trace != "-" and not Path(trace).absolute().parent.is_dir():
        raise click.UsageError(f"--trace {trace}: there is no such directory")
    if trace and Path(trace).is_dir():
        raise click.UsageError(f"--trace {trace} is a directory; name a file")


def _print_catalogue() -> None:
    from kapy.testing.simulation.points import FAULT_KINDS
    from kapy.testing.simulation.rules import RULES
    from kapy.testing.simulation.scenarios import SCENARIOS

    for title, rows in (
        ("Scenarios", [(scenario.name, scenario.text) for scenario in SCENARIOS.values()]),
        ("Faults", [(kind.name, kind.text) for kind in FAULT_KINDS.values()]),
        ("Rules", [(rule.name, rule.text) for rule in RULES]),
    ):
        click.echo(f"{title}:")
        for name, text in rows:
            click.echo(f"  {name:24}{text}")


def _play(
    scenario: Scenario, seed: int, faults: str, trace: str | None, until: float | None
) -> int:
    """Play one scenario; return the number of failures."""
    from kapy.testing.simulation.campaign import baseline_of, shrunk
    from kapy.testing.simulation.forking import Verdict
    from kapy.testing.simulation.run import run

    baseline = baseline_of(scenario.name, seed)
    chosen = _faults_of(faults, seed, scenario)
    outcome = run(scenario, seed, chosen, baseline=baseline, until=until)
    if trace is not None:
        _write_trace(trace, outcome)
    to_stderr = trace == "-"
    if until is not None:
        _say(f"{scenario.name}: ended at {outcome.seconds:.3f} s, not judged", err=to_stderr)
        return 0
    said = ", ".join(map(str, chosen)) or "no fault"
    verdict = "ok" if outcome.is_good else "FAILED"
    _say(f"{verdict:7}{scenario.name}, seed {seed}: {said}", err=to_stderr)
    if outcome.is_good:
        return 0
    failure = shrunk(scenario, seed, Verdict(chosen, outcome.violations))
    _say(failure.story, err=to_stderr)
    return 1


def _faults_of(text: str, seed: int, scenario: Scenario) -> tuple[Fault, ...]:
    """Return the faults of a run. Raises BadFault."""
    from kapy.testing.simulation.campaign import baseline_of
    from kapy.testing.simulation.points import parse_faults
    from kapy.testing.simulation.random_faults import random_faults

    if text == "none":
        return ()
    if has_only_digits(text):
        return random_faults(seed, int(text), baseline_of(scenario.name, seed).points)
    return parse_faults(text)


def _try_every_point(scenario: Scenario, seed: int, kinds: str, sample: int, jobs: int) -> int:
    from kapy.testing.simulation.campaign import exhaustive, shrunk
    from kapy.testing.simulation.points import fault_kind

    chosen = [fault_kind(part.strip()).name for part in kinds.split(",")]
    verdicts = exhaustive(
        scenario, seed, chosen, jobs=jobs, selects=lambda point, _: point.number % sample == 0
    )
    failing = [item for item in verdicts if item.violations]
    _say(f"{scenario.name}, seed {seed}: {len(verdicts)} runs, {len(failing)} failed")
    for verdict in _one_of_each(failing):
        _say(shrunk(scenario, seed, verdict).story)
    return len(failing)


def _one_of_each(verdicts: list[Verdict]) -> list[Verdict]:
    """Return one verdict for each rule and kind of fault."""
    by_kind: dict[tuple[str, str], Verdict] = {}
    for verdict in verdicts:
        by_kind.setdefault((verdict.violations[0].rule, verdict.faults[0].kind), verdict)
    return list(by_kind.values())


def _write_trace(target: str, outcome: Outcome) -> None:
    from kapy.testing.simulation.trace import line_of

    with click.open_file(target, "wb") as stream:
        for step in outcome.steps:
            stream.write(line_of(step))


def _say(text: str, *, err: bool = False) -> None:
    click.echo(text, err=err)
