"""`kapy conformance run`: runs a provider, and tests whether it conforms to the contracts."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kapy.cli.conformance_check import fail_on, output_option, print_reports
from kapy.cli.flags import command

if TYPE_CHECKING:
    from kapy.testing.conformance.findings import Report
    from kapy.testing.conformance.provider_under_test import Launcher, ProviderUnderTest
    from kapy.testing.conformance.run_context import RunContext


REMAINS = 5
"""The exit code if created objects remain."""
TERMINATED = 143
"""The exit code after SIGTERM, as shells have it."""


@dataclass(frozen=True)
class RunOptions:
    """The user's options of the run. seconds: the values of `--quiet` and `--within`. seeds: the
    seeds of the runs with fault injection.
    """

    seconds: tuple[float | None, float | None]
    seeds: range
    context: RunContext


@command(missing="please name the folder of a release")
@click.argument("path", type=click.Path(path_type=Path))
@click.argument("program", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--in-process",
    default="",
    metavar="MODULE:FUNCTION",
    help="A function of Python that adds the provider's controllers to a kapy.sdk.Runtime.",
)
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Kubeconfig of a management cluster in which the provider runs already, and no core.",
)
@click.option(
    "--variable",
    "variables",
    multiple=True,
    metavar="NAME=VALUE",
    help="A variable of the release's files. Can be given several times.",
)
@click.option(
    "--examples",
    type=click.Path(path_type=Path, exists=True),
    help="A file or a folder with objects of the provider's kinds, and what they refer to.",
)
@click.option(
    "--within",
    type=click.FloatRange(min=0.1),
    default=None,
    metavar="SECONDS",
    help="Seconds within which the provider must complete an operation.  [default: 40]",
)
@click.option(
    "--quiet",
    type=click.FloatRange(min=0.1),
    default=None,
    metavar="SECONDS",
    help="Seconds for which the checks look for forbidden changes.  [default: 5]",
)
@click.option(
    "--parallel",
    type=click.IntRange(0),
    default=0,
    metavar="CHECKS",
    help="Number of checks that run at the same time; 0 runs all of them.",
)
@click.option(
    "--faults",
    type=click.IntRange(0, 1000),
    default=0,
    metavar="SEEDS",
    help="Number of runs with injected faults, each with different faults.",
)
@click.option(
    "--simulate",
    type=click.IntRange(0, 1000),
    default=0,
    metavar="SEEDS",
    help="Number of seeds with which whole clusters are simulated; needs --in-process.",
)
@output_option
@fail_on
def run(
    path: Path,
    program: tuple[str, ...],
    in_process: str,
    kubeconfig: Path | None,
    variables: tuple[str, ...],
    examples: Path | None,
    within: float | None,
    quiet: float | None,
    parallel: int,
    faults: int,
    simulate: int,
    output: str,
    fail_on: str,
) -> int:
    """Run a provider, and judge it by what it does and by its release's files.

    PATH is the folder of its release: CRDs and rights are installed from there, and its
    cluster-template.yaml has examples of its kinds. The provider is one of

    \b
      -- PROGRAM ARGUMENTS      a program in any language, which finds its API server by
                                KUBECONFIG; --namespace and --watch-filter are added for the
                                rules that ask for these
      --in-process MODULE:FUNC  a function of Python
      --kubeconfig FILE         runs already, on a cluster without core's controllers

    The kit plays core, on an API server of its own unless there is a kubeconfig, and needs no
    cloud but the provider's own. How much room the provider needs is told first; with --parallel
    it is less. It takes less than three minutes, unless --within says that the provider is slow; a
    function of Python runs on virtual time.

    The command removes its objects at the end, also after Ctrl-C, SIGTERM and a crash of the
    provider. It lists objects that it could not remove, with the commands that remove them.

    On a bad day (--faults) requests, answers and events are lost, late, refused or come twice, and
    the provider is killed between two writes. Afterwards everything has to be as on a good day:
    nothing made twice, nothing left behind. The same number gives the same days; a day of a
    program takes about half a minute for each kind.

    In a simulation (--simulate) the provider makes the machines of whole clusters, which are
    created, scaled, upgraded, healed and deleted under random faults, beside kapy's managers. A
    finding names the seed, and the command that replays the run.

    The exit code is that of check: 2, 3 or 4 where a MUST, a SHOULD or a MAY is broken, down to
    --fail-on; 1 where the provider does not start, dies, or something cannot be read; and 5,
    before all others, where something that was made could not be removed.
    """
    from kapy.testing.conformance.release import releases_at
    from kapy.testing.conformance.run_context import RunContext

    if simulate and not in_process:
        raise click.UsageError("--simulate runs on virtual time: it needs --in-process")
    release = only_release(releases_at(path), path)
    context = RunContext(parallel, lambda line: click.echo(line, err=True))
    options = RunOptions((quiet, within), range(faults), context)
    launcher, judge = _choose_launcher(program, in_process, kubeconfig, options)
    values = dict(map(variable_of, variables))
    provider = provider_under_test(release, launcher, values, examples)
    with _report_leftovers(context):
        behaviour = judge(provider)
    if simulate:
        replay = replay_options(path, in_process, variables, examples)
        behaviour = _add_simulations(behaviour, provider, in_process, replay, range(simulate))
    return _print_results(release, behaviour, output, fail_on)


def _print_results(release: Any, behaviour: Report, output: str, fail_on: str) -> int:
    """Print the report on the files and the behaviour of a provider; return the exit code."""
    from kapy.testing.conformance.check import check_release, merge_reports

    code = print_reports([merge_reports(check_release(release), behaviour)], output, fail_on)
    return REMAINS if behaviour.leftovers else code


def _add_simulations(
    report: Report, provider: ProviderUnderTest, in_process: str, replay: str, seeds: range
) -> Report:
    """Return the report with the results of simulated clusters. replay: options that name the
    provider."""
    import logging

    from kapy.testing.conformance.in_process import import_provider
    from kapy.testing.simulation.custom_provider import custom_provider, instances
    from kapy.testing.simulation.provider_runs import simulate_provider, with_simulation

    custom = custom_provider(provider, instances(import_provider(in_process)), replay)
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)  # log messages about injected faults are expected
    try:
        broken = simulate_provider(custom, seeds, lambda line: click.echo(line, err=True))
        return with_simulation(report, broken, seeds)
    finally:
        logging.disable(before)


def replay_options(
    path: Path, in_process: str, variables: tuple[str, ...], examples: Path | None
) -> str:
    """Return the options of `kapy simulate` that name a provider, with a space before each."""
    words = ["--release", str(path), "--in-process", in_process]
    for item in variables:
        words += ["--variable", item]
    if examples is not None:
        words += ["--examples", str(examples)]
    return "".join(f" {shlex.quote(word)}" for word in words)


def only_release(releases: list[Any], path: Path) -> Any:
    """Return the only release of a folder. Raises UsageError if it has another number."""
    if len(releases) != 1:
        raise click.UsageError(f"{path} has {len(releases)} releases: name the folder of one")
    return releases[0]


def variable_of(text: str) -> tuple[str, str]:
    """Return name and value of a variable. Raises BadParameter."""
    name, is_there, value = text.partition("=")
    if not is_there or not name:
        raise click.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--variable")
    return name, value


def provider_under_test(
    release: Any, launcher: Launcher, values: dict[str, str], examples: Path | None
) -> ProviderUnderTest:
    """Return the provider of a release, with the user's examples."""
    from kapy.testing.conformance.core_controllers import with_core_controllers
    from kapy.testing.conformance.release import releases_at
    from kapy.testing.conformance.release_provider import provider_of_release

    example_files = (
        [file for item in releases_at(examples) for file in item.files] if examples else []
    )
    return with_core_controllers(provider_of_release(release, launcher, values, example_files))


def _choose_launcher(
    program: tuple[str, ...],
    in_process: str,
    kubeconfig: Path | None,
    options: RunOptions,
) -> tuple[Launcher, Callable[[ProviderUnderTest], Report]]:
    """Return the way in which the provider runs, and the matching judge of its behaviour."""
    if sum(map(bool, (program, in_process, kubeconfig))) != 1:
        raise click.UsageError(
            "say how the provider runs: -- PROGRAM ARGUMENTS, --in-process MODULE:FUNCTION, or "
            "--kubeconfig FILE"
        )
    if kubeconfig and options.seeds:
        raise click.UsageError(
            "--faults needs an API server of its own: name a program, or use --in-process"
        )
    import asyncio

    from kapy._aio.clock import system_clock
    from kapy.testing.conformance.behaviour import BEHAVIOUR
    from kapy.testing.conformance.provider_under_test import REAL
    from kapy.testing.conformance.run import run_checks

    timeouts, context = REAL.with_overrides(*options.seconds), options.context
    if program:
        from kapy.testing.conformance.command import Command

        def really(provider: ProviderUnderTest) -> Report:
            run = run_checks(
                provider,
                BEHAVIOUR,
                clock=system_clock,
                timeouts=timeouts,
                seeds=options.seeds,
                context=context,
            )
            return asyncio.run(_end_on_sigterm(run))

        return Command(program), really
    if in_process:
        from kapy.testing.conformance.in_process import InProcess, added_by
        from kapy.testing.virtual_time import VirtualTimeLoop

        def virtually(provider: ProviderUnderTest) -> Report:
            with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
                run = run_checks(provider, BEHAVIOUR, seeds=options.seeds, context=context)
                return runner.run(_end_on_sigterm(run))

        return InProcess(added_by(in_process)), virtually
    assert kubeconfig is not None
    from kapy.client.kubeconfig import parse
    from kapy.testing.conformance.remote_cluster import AlreadyRunning, run_checks_on_remote_cluster

    access = parse(kubeconfig.read_bytes(), str(kubeconfig))

    def there(provider: ProviderUnderTest) -> Report:
        run = run_checks_on_remote_cluster(provider, BEHAVIOUR, access, timeouts, context)
        return asyncio.run(_end_on_sigterm(run))

    return AlreadyRunning(), there


async def _end_on_sigterm(run: Coroutine[Any, Any, Report]) -> Report:
    """Handle SIGTERM like Ctrl-C: created objects are removed before the run ends."""
    import asyncio
    import signal

    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    stopped = False

    def stop() -> None:
        nonlocal stopped
        stopped = True
        task.cancel()

    loop.add_signal_handler(signal.SIGTERM, stop)
    try:
        return await run
    except asyncio.CancelledError:
        if stopped:
            raise SystemExit(TERMINATED) from None
        raise
    finally:
        loop.remove_signal_handler(signal.SIGTERM)


@contextmanager
def _report_leftovers(context: RunContext) -> Iterator[None]:
    """Print the remaining objects if no report lists them."""
    try:
        yield
    except BaseException:
        for leftover in context.leftovers:
            click.echo(f"Error: {leftover.object} was not removed: {leftover.remedy}", err=True)
        raise
