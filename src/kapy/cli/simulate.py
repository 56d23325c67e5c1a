"""`kapy simulate`: plays scenarios with faults on virtual time, and checks rules at every write."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kapy.cli.flags import command
from kapy.kube.digits import has_only_digits
from kapy.kube.errors import KapyError

if TYPE_CHECKING:
    from kapy.testing.simulation.custom_provider import CustomProvider
    from kapy.testing.simulation.forking import Selects, Verdict
    from kapy.testing.simulation.points import Fault
    from kapy.testing.simulation.run import Baseline, Outcome
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
@click.option(
    "--manager",
    "managers",
    multiple=True,
    metavar="NAME",
    help="Faults of this manager only. Usual: all, or `provider` with --release.",
)
@click.option(
    "--release",
    type=click.Path(path_type=Path, exists=True),
    help="The release of an infrastructure provider that makes the machines.",
)
@click.option(
    "--in-process",
    default="",
    metavar="MODULE:NAME",
    help="With --release: a class with `add_to`, or a function that adds its controllers.",
)
@click.option(
    "--variable", "variables", multiple=True, metavar="NAME=VALUE", help="Of the release's files."
)
@click.option(
    "--examples",
    type=click.Path(path_type=Path, exists=True),
    help="With --release: objects of the provider's kinds.",
)
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
    managers: tuple[str, ...],
    release: Path | None,
    in_process: str,
    variables: tuple[str, ...],
    examples: Path | None,
    listed: bool,
) -> int:
    """Play scenarios with faults on virtual time, and check the rules at every write.

    All of kapy's managers run in this process, against an API server and a cloud in memory. The
    seed decides the order of tasks, the latencies and the random faults: the same seed and version
    give the same trace. With --release and --in-process a provider of one's own makes the
    machines. A failing run is reduced to the faults that matter, and told with the
    command that plays it again. The exit code is 1 if a rule is broken.
    """
    from kapy.testing.simulation.run import BadSimulation
    from kapy.testing.simulation.scenarios import SCENARIOS, scenario_named

    if listed:
        _print_catalogue()
        return 0
    if (release is None) != (not in_process):
        raise click.UsageError("--release and --in-process belong together: name both, or none")
    provider = None
    if release is not None:
        provider = _provider(release, in_process, variables, examples)
        managers = managers or ("provider",)
    _check_managers(managers, has_provider=provider is not None)
    scenarios = [replace(scenario_named(name), provider=provider) for name in names or SCENARIOS]
    if (trace or until is not None) and len(scenarios) != 1:
        raise click.UsageError("--trace and --until need one --scenario")
    _check_options(faults, every, sample, jobs, trace, until)
    failures = runs = 0
    # The managers' log lines about faults are expected, and not part of the result.
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        for scenario in scenarios:
            if every:
                verdicts = _try_every_point(
                    scenario, seed, every, _selection(managers, sample), jobs
                )
                runs += len(verdicts)
                failures += sum(bool(verdict.violations) for verdict in verdicts)
            else:
                failures += _play(scenario, seed, faults, managers, trace, until)
    except BadSimulation as error:
        if error.outcome is None:
            raise
        _tell_undisturbed(scenario, error.outcome, trace)
        return FAILED
    finally:
        logging.disable(before)
    if every and not runs:
        raise KapyError(_no_points(every, managers))
    return FAILED if failures else 0


def _no_points(every: str, managers: tuple[str, ...]) -> str:
    """Return the error of a search without a run."""
    from kapy.testing.simulation.custom_provider import PROVIDER

    text = f"--every {every}: nothing was tried, as no point takes these faults"
    if managers != (PROVIDER,):
        return text
    return (
        f"{text}. Requests of a provider to its cloud are points if `add_to` takes "
        "`kapy.testing.simulation.disturb_cloud(cloud)`"
    )


def _tell_undisturbed(scenario: Scenario, outcome: Outcome, trace: str | None) -> None:
    """Print a run that breaks a rule although no fault was injected."""
    from kapy.testing.simulation.story import story_of

    if trace is not None:
        _write_trace(trace, outcome)
    to_stderr = trace == "-"
    seed, options = outcome.seed, scenario.options
    _say(f"FAILED {scenario.name}, seed {seed}: no fault", err=to_stderr)
    story = story_of(scenario.name, seed, (), outcome.violations, outcome.steps, options)
    _say(story, err=to_stderr)


def _check_options(
    faults: str,
    every: str | None,
    sample: int,
    jobs: int,
    trace: str | None,
    until: float | None,
) -> None:
    """Refuse options that would have no effect, before minutes of work. Raises UsageError."""
    if until is not None and not until >= 0:  # also true for NaN
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


def _check_managers(managers: tuple[str, ...], *, has_provider: bool) -> None:
    """Refuse names of managers that do not run. Raises UsageError."""
    from kapy.testing.simulation.custom_provider import PROVIDER
    from kapy.testing.simulation.processes import MANAGERS

    names = [*MANAGERS, PROVIDER] if has_provider else list(MANAGERS)
    for name in managers:
        if name not in names:
            raise click.UsageError(f"--manager {name}: there are {', '.join(names)}")


def _provider(
    path: Path, in_process: str, variables: tuple[str, ...], examples: Path | None
) -> CustomProvider:
    """Return the provider that makes the machines."""
    from kapy.cli.conformance_run import (
        only_release,
        provider_under_test,
        replay_options,
        variable_of,
    )
    from kapy.testing.conformance.in_process import InProcess, added_by, import_provider
    from kapy.testing.conformance.release import releases_at
    from kapy.testing.simulation.custom_provider import custom_provider, instances

    values = dict(map(variable_of, variables))
    launcher = InProcess(added_by(in_process))
    under_test = provider_under_test(
        only_release(releases_at(path), path), launcher, values, examples
    )
    options = replay_options(path, in_process, variables, examples)
    return custom_provider(under_test, instances(import_provider(in_process)), options)


def _selection(managers: tuple[str, ...], sample: int) -> Selects:
    """Return which points --every tries."""
    return lambda point, _: (
        point.number % sample == 0 and (not managers or point.manager in managers)
    )


def _play(
    scenario: Scenario,
    seed: int,
    faults: str,
    managers: tuple[str, ...],
    trace: str | None,
    until: float | None,
) -> int:
    """Play one scenario; return the number of failures."""
    from kapy.testing.simulation.campaign import shrunk, undisturbed_run
    from kapy.testing.simulation.forking import Verdict
    from kapy.testing.simulation.run import run

    baseline = undisturbed_run(scenario, seed)
    points = {
        item: count
        for item, count in baseline.points.items()
        if not managers or item[0] in managers
    }
    chosen = _faults_of(scenario, faults, seed, points)
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
    for fault in outcome.missed:
        _say(f"       {fault} did not happen: {_points_of(fault, baseline)}", err=to_stderr)
    if outcome.is_good:
        return 0
    failure = shrunk(scenario, seed, Verdict(chosen, outcome.violations))
    _say(failure.story, err=to_stderr)
    return 1


def _points_of(fault: Fault, baseline: Baseline) -> str:
    """Return which points the manager of a fault has."""
    point = fault.point
    letters = [
        f"{letter}1 to {letter}{count}"
        for (manager, letter), count in sorted(baseline.points.items())
        if manager == point.manager
    ]
    points = f"without faults it has {', '.join(letters) or 'none'}"
    return f"the run did not reach the point; {points}"


def _faults_of(
    scenario: Scenario, text: str, seed: int, points: Mapping[tuple[str, str], int]
) -> tuple[Fault, ...]:
    """Return the faults of a run. Raises BadFault."""
    from kapy.testing.simulation.guided import random_faults
    from kapy.testing.simulation.points import parse_faults

    if text == "none":
        return ()
    if has_only_digits(text):
        return random_faults(seed, int(text), points, without=scenario.without)
    return parse_faults(text)


def _try_every_point(
    scenario: Scenario, seed: int, kinds: str, selects: Selects, jobs: int
) -> list[Verdict]:
    from kapy.testing.simulation.campaign import exhaustive, shrunk
    from kapy.testing.simulation.points import fault_kind

    chosen = [fault_kind(part.strip()).name for part in kinds.split(",")]
    verdicts = exhaustive(scenario, seed, chosen, jobs=jobs, selects=selects)
    failing = [item for item in verdicts if item.violations]
    _say(f"{scenario.name}, seed {seed}: {len(verdicts)} runs, {len(failing)} failed")
    for verdict in _one_of_each(failing):
        _say(shrunk(scenario, seed, verdict).story)
    return verdicts


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
