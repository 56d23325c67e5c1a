"""`kapy debug collect`: writes an archive about a Cluster, for a bug report."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from kapy.cli.client_options import kubeconfig_of, open_async_client
from kapy.cli.flags import command
from kapy.cli.machine_options import machine_options
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError

if TYPE_CHECKING:
    from kapy.client.client import Client
    from kapy.clusterctl.debug import CollectOptions, CollectResult
    from kapy.sdk.console import MachineConsole

ANSWER_TIMEOUT: Final = 15.0
"""Seconds for an answer of the workload cluster, which may be the one that is broken."""


class FileExists(KapyError):
    """The archive would overwrite a file."""


@command(missing="please specify a cluster name")
@click.argument("cluster", metavar="NAME")
@machine_options
@click.option(
    "-o",
    "--output-file",
    default="",
    help="The archive. [default: kapy-debug-NAME-TIME.tar.gz here]",
)
@click.option("--since", default="", metavar="DURATION", help="Leave out older logs: 30m, 3h.")
@click.option("--timeout", default="2m", show_default=True, help="How long it may take: 30s, 5m.")
@click.option(
    "--max-size",
    type=click.IntRange(1, 4096),
    default=64,
    show_default=True,
    help="Megabytes of all files together, unpacked.",
)
def collect(
    cluster: str,
    kubeconfig: str,
    kubeconfig_context: str,
    namespace: str,
    providers: Sequence[str],
    output_file: str,
    since: str,
    timeout: str,
    max_size: int,
) -> None:
    """Write an archive about the Cluster NAME, for a bug report.

    In it: the objects of the Cluster and of its class, events, logs of the managers (or of a plane
    in the background), logs and journals of the machines, Nodes and Pods of the workload cluster,
    and versions. Keys, tokens and passwords are left out as far as they can be recognized; look
    through the archive before you give it to others.
    """
    from kapy._aio.clock import system_clock
    from kapy.cli.machine_logs import start_time
    from kapy.clusterctl.debug import CollectOptions
    from kapy.kube.duration import parse

    now = system_clock()
    try:
        within = parse(timeout).total_seconds()
    except ValueError as error:
        raise click.UsageError(f"invalid --timeout: {error}") from None
    how = CollectOptions(
        consoles=_consoles(providers),
        dial=_workload_client,
        now=now,
        plane_logs=_plane_logs(kubeconfig_of(kubeconfig, kubeconfig_context).server),
        within=within,
        most=max_size << 20,
        since=start_time(since, "", now),
    )
    path = Path(output_file or f"kapy-debug-{cluster}-{now:%Y%m%d-%H%M%S}.tar.gz")
    if path.exists():
        raise FileExists(f"{path} is there already: name another file with --output-file")
    place = (kubeconfig, kubeconfig_context, namespace)
    _print_summary(path, asyncio.run(_write(cluster, place, path, how)))


async def _write(
    name: str, place: tuple[str, str, str], path: Path, settings: CollectOptions
) -> CollectResult:
    from kapy.clusterctl.atomic_file import atomic_write
    from kapy.clusterctl.debug import collect as collected

    async with open_async_client(*place) as there:
        with atomic_write(path) as file:
            os.fchmod(file.fileno(), 0o600)
            return await collected(there.client, Key(there.namespace, name), file, settings)


def _print_summary(path: Path, collected: CollectResult) -> None:
    for item in collected.missing:
        click.echo(f"not in it: {item}", err=True)
    size = path.stat().st_size / 1e6
    click.echo(f"wrote {path} ({len(collected.files)} files, {size:.1f} MB)")
    click.echo("Secrets were left out as far as they were recognized; look through it before you")
    click.echo("give it to others.")


def _consoles(providers: Sequence[str]) -> Callable[[Document], MachineConsole]:
    def console(infra: Document) -> MachineConsole:
        from kapy.apps.consoles import console_of

        return console_of(infra, providers)

    return console


@asynccontextmanager
async def _workload_client(kubeconfig: str) -> AsyncIterator[Client]:
    """A client of a workload cluster by its kubeconfig."""
    from kapy.client.client import Client
    from kapy.client.https import ApiTransport
    from kapy.client.kubeconfig import parse

    transport = ApiTransport(parse(kubeconfig), timeout=ANSWER_TIMEOUT, max_bytes=256 << 20)
    try:
        yield Client(transport)
    finally:
        await transport.aclose()


def _plane_logs(server: str) -> Sequence[str]:
    """Return the log of the plane behind that server, if it runs in the background on this
    computer.
    """
    from kapy.apps.planes import planes_in
    from kapy.apps.settings import base_of_planes

    planes = planes_in(base_of_planes(os.environ, Path.home()))
    return [
        str(plane_state.folder.log)
        for plane_state in planes
        if plane_state.server == server and plane_state.folder.log.exists()
    ]
