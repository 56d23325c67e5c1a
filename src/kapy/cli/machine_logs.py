"""`kapy logs machine`: prints the logs of a Machine."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from kapy.cli.flags import command, strings
from kapy.cli.machine_options import machine_options, open_console

if TYPE_CHECKING:
    from kapy.sdk.console import LogRequest, MachineTarget


@command(missing="please specify a Machine name")
@click.argument("machine", metavar="NAME")
@machine_options
@strings(
    "--source",
    help="Logs to print (may be repeated); `all` for every one. Machines in containers have "
    "bootstrap, kubelet, containerd, journal and boot. [default: the first one]",
)
@click.option("-f", "--follow", is_flag=True, help="Go on until Ctrl-C.")
@click.option("--tail", type=int, default=-1, help="Lines of the end to print. [default: all]")
@click.option(
    "--since",
    default="",
    metavar="DURATION",
    help="Only entries newer than a duration: 5s, 2m, 3h.",
)
@click.option(
    "--since-time", default="", metavar="TIME", help="Only entries after a time (RFC 3339)."
)
def machine(
    machine: str,
    kubeconfig: str,
    kubeconfig_context: str,
    namespace: str,
    providers: Sequence[str],
    source: Sequence[str],
    follow: bool,
    tail: int,
    since: str,
    since_time: str,
) -> None:
    """Print the logs of the Machine NAME: its bootstrap, its kubelet, its container runtime.

    The logs are read where the machine is: of a container, from the container engine that
    DOCKER_HOST or the Docker context names on this computer.

    \b
    kapy logs machine capybara-md-0-abcde                       # what its boot data printed
    kapy logs machine capybara-md-0-abcde --source kubelet -f
    kapy logs machine capybara-md-0-abcde --source all --since 10m
    """
    from kapy._aio.clock import system_clock
    from kapy.sdk.console import LogRequest

    base = LogRequest(
        source="",
        follow=follow,
        tail=None if tail < 0 else tail,
        since=start_time(since, since_time, system_clock()),
    )
    place = (kubeconfig, kubeconfig_context, namespace)
    asyncio.run(_print(machine, place, providers, source, base))


def start_time(since: str, since_time: str, now: datetime) -> datetime | None:
    """Return the start time from --since or --since-time."""
    from kapy.kube.duration import parse

    if since and since_time:
        raise click.UsageError("at most one of `--since-time` or `--since` may be specified")
    try:
        if since:
            return now - abs(parse(since))
        fromisoformat = datetime.fromisoformat(since_time) if since_time else None
    except (ValueError, OverflowError) as error:
        raise click.UsageError(
            f"invalid time: {error}; write --since as 5s, 2m or 3h, and --since-time as "
            "2026-01-31T12:00:00Z"
        ) from None
    return fromisoformat.replace(tzinfo=fromisoformat.tzinfo or UTC) if fromisoformat else None


async def _print(
    name: str,
    place: tuple[str, str, str],
    providers: Sequence[str],
    selected: Sequence[str],
    base: LogRequest,
) -> None:
    from dataclasses import replace

    async with open_console(name, place, providers) as (console, target):
        names = choose_sources(console.sources, selected, target)
        if len(names) == 1:
            async for piece in console.logs(target, replace(base, source=names[0])):
                _write(piece)
        elif base.follow:
            async with asyncio.TaskGroup() as group:
                for item in names:
                    pieces = console.logs(target, replace(base, source=item))
                    group.create_task(_print_lines(item, pieces))
        else:
            for element in names:
                await _print_lines(element, console.logs(target, replace(base, source=element)))


def choose_sources(
    sources: Mapping[str, str], names: Sequence[str], target: MachineTarget
) -> Sequence[str]:
    """Return the logs to print; a default choice is reported on standard error."""
    if "all" in names:
        return list(sources)
    unknown = [name for name in names if name not in sources]
    if unknown:
        raise click.UsageError(
            f"Machine {target.name} ({target.infra['kind']}) has no log {unknown[0]}; it has "
            f"{', '.join(sources)}"
        )
    if not names and len(sources) > 1:
        first = next(iter(sources))
        click.echo(f'Defaulted source "{first}" out of: {", ".join(sources)}', err=True)
    return names or list(sources)[:1]


async def _print_lines(name: str, pieces: AsyncIterator[bytes]) -> None:
    """Print whole lines, each with the name of its log. A log that cannot be read is reported."""
    from kapy.sdk.console import ConsoleUnavailable

    head, rest = f"[{name}] ".encode(), b""
    try:
        async for piece in pieces:
            *lines, rest = (rest + piece).split(b"\n")
            _write(b"".join(head + line + b"\n" for line in lines))
    except ConsoleUnavailable as error:
        click.echo(f"[{name}] {error}", err=True)
    if rest:
        _write(head + rest + b"\n")


def _write(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
