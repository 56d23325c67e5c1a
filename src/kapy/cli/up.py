"""`kapy up`: runs a management plane."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from kapy.apps.settings import (
    ApiProcessCount,
    ControllerConfig,
    Durability,
    Folder,
    Processes,
    RunPods,
)
from kapy.cli.background import relay_progress, start_plane
from kapy.cli.controller_options import controller_config_of, controller_options
from kapy.cli.daemon import chosen_folder, flags_of
from kapy.cli.event_loop import run
from kapy.cli.flags import command, original_arguments
from kapy.cli.log_lines import log_to_stderr
from kapy.cli.output import own_name
from kapy.cli.plane_log import RotatingStderrHandler
from kapy.cli.plane_options import (
    PlaneOptions,
    api_processes_option,
    plane_options,
    processes_option,
)
from kapy.cli.signals import handle_stop_signals
from kapy.cli.up_options import (
    audit_of,
    extension_options,
    extensions_of,
    gates_for,
    limits_of,
    server_options,
)
from kapy.cli.webhook_services import services_of

if TYPE_CHECKING:
    from kapy.apps.pidfile import PlaneRecord
    from kapy.cli.plane import RunningPlane
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
    help="Start with the data on disk even if acknowledged writes are missing from it.",
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
@processes_option
@api_processes_option
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
    processes: Processes,
    api_processes: ApiProcessCount,
    **other_flags: Any,
) -> None:
    """Run a management plane until Ctrl-C, or in the background."""
    folder = chosen_folder(name, data_dir)
    if detach and ready_fd is None:  # the process that is started in the background gets --ready-fd
        _print_status(run(start_plane(folder, original_arguments())), _data_note(folder, in_memory))
        flags = flags_of(name, data_dir)
        kapy = own_name()
        click.echo(f"it runs in the background: {kapy} status{flags}, {kapy} down{flags}")
        return
    log_to_stderr(verbose, logging_format, RotatingStderrHandler(folder.log))
    options = PlaneOptions(
        name,
        folder,
        in_memory,
        host,
        port,
        token_file,
        kubeconfig,
        limits=limits_of(other_flags),
        audit=audit_of(other_flags),
        services=services_of(other_flags),
        durability=durability,
        accept_data_loss=accept_data_loss,
        replace_keys=replace_keys,
        controlling=_controlling(other_flags),
        providers=_providers(places),
        extensions=extensions_of(other_flags),
        run_pods=run_pods,
        processes=processes,
        api_processes=api_processes,
    )
    run(_up(options, ready_fd))


def _controlling(values: dict[str, Any]) -> ControllerConfig:
    config = controller_config_of(values, gates_for(values))
    if values["extensions"] and not config.manager.gates.runtime_sdk:
        raise click.UsageError("--extension needs the feature gate RuntimeSDK, which is closed")
    return config


def _providers(places: tuple[str, ...]) -> tuple[Provider, ...]:
    if not places:
        return ()
    from kapy.apps.provider.loading import provider_at

    return tuple(map(provider_at, places))


async def _up(options: PlaneOptions, ready_fd: int | None) -> None:
    from kapy.cli.plane import run_announced_plane  # not imported by commands that only observe

    assert options.folder is not None
    with handle_stop_signals() as stop:
        with relay_progress(ready_fd, stop) as announce:
            async with (
                stop.start("the management plane") as ready,
                run_announced_plane(options) as there,
            ):
                ready()
                _print_status(there, _data_note(options.folder, options.in_memory))
                announce()
                await stop.wait()
                click.echo("stopping")
        click.echo("stopped")


def _print_status(plane: RunningPlane | PlaneRecord, data_note: str) -> None:
    click.echo(f"management plane at {plane.server}, data {data_note}")
    click.echo(f"kubectl context {plane.context} is current (in {plane.kubeconfig})")
    sys.stdout.flush()


def _data_note(folder: Folder, in_memory: bool) -> str:
    return "in memory" if in_memory else f"in {folder.path}"
