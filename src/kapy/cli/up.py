"""`kapy up`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from kapy.apps.settings import Controlling, Durability, Folder, RunPods
from kapy.cli.background import begun, relayed
from kapy.cli.controller_options import controller_options, controlling_of
from kapy.cli.event_loop import run
from kapy.cli.extension_options import extension_options, extensions_of, gates_for
from kapy.cli.flags import command, typed
from kapy.cli.log_lines import log_to_stderr
from kapy.cli.output import own_name
from kapy.cli.plane_options import Options, plane_options
from kapy.cli.running import chosen_folder, flags_of
from kapy.cli.server_options import audit_of, limits_of, server_options
from kapy.cli.stopping import told_to_stop
from kapy.cli.webhook_services import services_of

if TYPE_CHECKING:
    from kapy.apps.presence import Presence
    from kapy.cli.plane import Up
    from kapy.sdk.provider import Provider


@command()
@click.option("--name", default="", help="Name of the plane; its context is kapy or kapy-NAME.")
@click.option("--detach", is_flag=True, help="Leave the plane running in the background.")
@plane_options
@click.option("--ready-fd", type=int, default=None, hidden=True)
@click.option(
    "--durability",
    type=click.Choice(["crash", "power-loss"]),
    default="crash",
    show_default=True,
    help="Event that acknowledged writes survive; power-loss flushes the disk on each write.",
)
@click.option(
    "--accept-data-loss",
    is_flag=True,
    help="Start with what is on disk where acknowledged writes are missing.",
)
@click.option(
    "--replace-keys",
    is_flag=True,
    help="Make a new certificate authority and service account key, whatever is there.",
)
@click.option(
    "--provider",
    "places",
    multiple=True,
    metavar="MODULE[:NAME]",
    help="Run this provider of yours in the process, too (may be repeated).",
)
@click.option(
    "--run-pods",
    type=click.Choice(["containers", "processes", "off"]),
    default="containers",
    show_default=True,
    help="How Pods run that have no program of `kapy run provider` or `kapy init --run`: as "
    "containers of Docker or Podman, or not; off: no Pods at all.",
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
    detach: bool,
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
    accept_data_loss: bool,
    replace_keys: bool,
    places: tuple[str, ...],
    run_pods: RunPods,
    **given: Any,
) -> None:
    """Run a management plane until Ctrl-C, or in the background."""
    folder = chosen_folder(name, data_dir)
    if detach and ready_fd is None:  # what is begun with these arguments has a --ready-fd
        _tell(run(begun(folder, typed())), _kept(folder, in_memory))
        flags = flags_of(name, data_dir)
        kapy = own_name()
        click.echo(f"it runs in the background: {kapy} status{flags}, {kapy} down{flags}")
        return
    log_to_stderr(verbose, logging_format)
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
        accept_data_loss=accept_data_loss,
        replace_keys=replace_keys,
        controlling=_controlling(given),
        providers=_providers(places),
        extensions=extensions_of(given),
        run_pods=run_pods,
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
    from kapy.cli.plane import up_and_announced  # what looks on from outside does without it

    assert options.folder is not None
    with told_to_stop() as asked:
        with relayed(ready_fd, asked) as announce:
            async with (
                asked.beginning("the management plane") as ready,
                up_and_announced(options) as there,
            ):
                ready()
                _tell(there, _kept(options.folder, options.in_memory))
                announce()
                await asked.wait()
                click.echo("stopping")
        click.echo("stopped")


def _tell(there: Up | Presence, kept: str) -> None:
    click.echo(f"management plane at {there.server}, data {kept}")
    click.echo(f"kubectl context {there.context} is current (in {there.kubeconfig})")
    sys.stdout.flush()


def _kept(folder: Folder, in_memory: bool) -> str:
    return "in memory" if in_memory else f"in {folder.path}"
