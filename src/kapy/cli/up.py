"""`kapy up`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from kapy.apps.settings import Controlling, Durability
from kapy.cli.background import READY
from kapy.cli.controller_options import controller_options, controlling_of
from kapy.cli.event_loop import run
from kapy.cli.extension_options import extension_options, extensions_of, gates_for
from kapy.cli.flags import command
from kapy.cli.log_lines import log_to_stderr
from kapy.cli.plane import Up, up_and_announced
from kapy.cli.plane_options import Options, plane_options
from kapy.cli.running import chosen_folder
from kapy.cli.server_options import audit_of, limits_of, server_options
from kapy.cli.stopping import told_to_stop
from kapy.cli.webhook_services import services_of

if TYPE_CHECKING:
    from kapy.sdk.provider import Provider


@command()
@click.option("--name", default="", help="Name of the plane; its context is kapy or kapy-NAME.")
@plane_options
@click.option("--ready-fd", type=int, default=None, hidden=True)
@click.option(
    "--durability",
    type=click.Choice(["crash", "power-loss"]),
    default="crash",
    show_default=True,
    help="What acknowledged writes survive; with power-loss each costs a flush of the disk.",
)
@click.option(
    "--provider",
    "places",
    multiple=True,
    metavar="MODULE[:NAME]",
    help="Run this provider of yours in the process, too (may be repeated).",
)
@server_options
@extension_options
@controller_options
@click.option("-v", "--verbose", count=True, help="Say more (twice: everything).")
@click.option(
    "--logging-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Form of the log on standard error.",
)
def up(
    name: str,
    data_dir: str,
    in_memory: bool,
    port: int | None,
    host: str,
    token_file: str,
    kubeconfig: str,
    ready_fd: int | None,
    verbose: int,
    logging_format: str,
    durability: Durability,
    places: tuple[str, ...],
    **given: Any,
) -> None:
    """Run a management plane until Ctrl-C."""
    log_to_stderr(verbose, logging_format)
    folder = chosen_folder(name, data_dir)
    options = Options(
        name,
        folder,
        in_memory,
        host,
        port,
        token_file,
        kubeconfig,
        limits=limits_of(given),
        audit=audit_of(given),
        services=services_of(given),
        durability=durability,
        controlling=_controlling(given),
        providers=_providers(places),
        extensions=extensions_of(given),
    )
    run(_up(options, ready_fd))


def _controlling(given: dict[str, Any]) -> Controlling:
    found = controlling_of(given, gates_for(given))
    if given["extensions"] and not found.manager.gates.runtime_sdk:
        raise click.UsageError("--extension needs the feature gate RuntimeSDK, which is closed")
    return found


def _providers(places: tuple[str, ...]) -> tuple[Provider, ...]:
    if not places:
        return ()
    from kapy.apps.provider.loading import provider_at

    return tuple(map(provider_at, places))


async def _up(options: Options, ready_fd: int | None) -> None:
    with told_to_stop() as asked:
        async with up_and_announced(options) as there:
            _announce(options, there, ready_fd)
            await asked.wait()
            click.echo("stopping")
        click.echo("stopped")


def _announce(options: Options, there: Up, ready_fd: int | None) -> None:
    assert options.folder is not None
    kept = "in memory" if options.in_memory else f"in {options.folder.path}"
    click.echo(f"management plane at {there.server}, data {kept}")
    click.echo(f"kubectl context {there.context} is current (in {there.kubeconfig})")
    sys.stdout.flush()
    if ready_fd is not None:
        os.write(ready_fd, READY)
        os.close(ready_fd)
