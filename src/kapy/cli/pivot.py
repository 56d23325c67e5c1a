"""`kapy pivot`: makes a workload cluster its own management cluster."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kapy.cli.client_options import client_options, open_async_client
from kapy.cli.flags import command
from kapy.cli.progress import ProgressSteps, certificate_flag, run_with_steps

if TYPE_CHECKING:
    from kapy.client.client import Client
    from kapy.clusterctl.pivot.operation import Leftovers, Pivot

_RESUME_HINT = "run the same command again: it goes on where this one ended"


@dataclass(frozen=True)
class PivotOptions:
    """The user's options; the fields are named after the arguments and flags."""

    cluster: str
    kubeconfig: str
    kubeconfig_context: str
    namespace: str
    to_kubeconfig: str
    back: bool
    dry_run: bool
    wait_provider_timeout: int
    certificates: Any


@command()
@click.argument("cluster")
@client_options
@click.option(
    "--to-kubeconfig",
    default="",
    help="Kubeconfig of the cluster, instead of that of its Secret.",
)
@click.option("--back", is_flag=True, help="Take the cluster back to this management cluster.")
@click.option("--dry-run", is_flag=True, help="Only report what would be done.")
@click.option(
    "--wait-provider-timeout",
    type=int,
    default=300,
    show_default=True,
    help="Seconds to wait for each provider, and for the cluster at the end.",
)
@certificate_flag
def pivot(**flags: Any) -> None:
    """Let a workload cluster manage itself.

    Installs the providers of this management cluster in CLUSTER, waits for them, and moves the
    objects of its namespace there. Run it again after an interruption: it goes on where it ended.
    --back takes the cluster back, to repair what it cannot repair itself.
    """
    options = PivotOptions(**flags)
    if options.back and options.dry_run:
        raise click.UsageError("--dry-run tells of a pivot, not of its way back; leave out --back")
    for line in run_with_steps(partial(_run, options), again=_RESUME_HINT):
        click.echo(line)


async def _run(options: PivotOptions, steps: ProgressSteps) -> list[str]:
    from kapy._aio.clock import system_clock
    from kapy.apps.consoles import console_of
    from kapy.apps.settings import folder_of
    from kapy.cli.load_config import load_config, verbosity
    from kapy.clusterctl.pivot.access import kubeconfig_file
    from kapy.clusterctl.pivot.operation import Direction, Pivot, Side
    from kapy.kube import Key

    settings = load_config()
    max_bytes = verbosity(settings)

    def tell(level: int, message: str, /, **values: Any) -> None:
        if level <= max_bytes:
            steps(message, **values)

    async with AsyncExitStack() as stack:
        place = options.kubeconfig, options.kubeconfig_context, options.namespace
        plane = await stack.enter_async_context(open_async_client(*place))
        cluster = Key(plane.namespace, options.cluster)
        path = _absolute(options.to_kubeconfig)
        if path is None:
            credentials = folder_of("pivots", os.environ, Path.home()).path
            path = await kubeconfig_file(plane.client, cluster, credentials, console_of)
        itself = await stack.enter_async_context(
            open_async_client(str(path), "", options.namespace)
        )
        folder = await _plane_folder(plane.client)
        way = Direction(
            config=settings,
            clock=system_clock,
            journals=folder_of("moves", os.environ, Path.home()).path,
            say=steps,
            tell=tell,
            wait=float(options.wait_provider_timeout),
            certificates=options.certificates,
            local=await _programs(plane.client, folder),
        )
        kubeconfig = str(_absolute(options.kubeconfig) or "")
        value = Pivot(
            cluster,
            Side(plane.client, kubeconfig, options.kubeconfig_context),
            Side(itself.client, str(path)),
            way,
        )
        return await _print_result(value, options, path, folder)


def _absolute(path: str) -> Path | None:
    return Path(path).absolute() if path else None


async def _print_result(
    pivot: Pivot, options: PivotOptions, path: Path, folder: Path | None
) -> list[str]:
    if options.dry_run:
        await pivot.rehearse()
        return []
    if options.back:
        await pivot.unpivot()
        return _hints_after_back(options.cluster, path)
    await pivot.pivot()
    return _hints_after_forward(options, path, folder, await pivot.remains())


async def _plane_folder(client: Client) -> Path | None:
    """Return the folder of an embedded plane on this machine, None for other management
    clusters.
    """
    from kapy.apps.local_programs import CannotRun, plane_folder

    try:
        return await plane_folder(client)
    except CannotRun:
        return None


async def _programs(client: Client, folder: Path | None) -> Mapping[str, str]:
    from kapy.apps.local_programs import programs_of

    return {} if folder is None else await programs_of(client, folder)


def _hints_after_back(cluster: str, path: Path) -> list[str]:
    return [
        f"This management cluster looks after {cluster} again.",
        f"Its providers stay in {cluster}, without objects; they are used again by `kapy pivot "
        f"{cluster}`, and `kapy delete --all --kubeconfig {path}` removes them.",
    ]


def _hints_after_forward(
    options: PivotOptions, path: Path, folder: Path | None, remains: Leftovers
) -> list[str]:
    hints = [
        f"{options.cluster} manages itself now.",
        f"  kubectl --kubeconfig {path} get clusters -A",
        f"  kapy pivot {options.cluster} --back    takes it back, should it need a repair",
        "This management cluster still has:",
        *(f"  Cluster {cluster}" for cluster in remains.clusters),
        f"  its providers ({', '.join(provider.label for provider in remains.providers)})",
    ]
    if remains.clusters:
        names = " ".join(sorted({cluster.namespace for cluster in remains.clusters}))
        return [*hints, f"Keep it as long as it looks after Clusters (namespaces: {names})."]
    return [*hints, f"Nothing needs it any more; `{_removal_command(options, folder)}` removes it."]


def _removal_command(options: PivotOptions, folder: Path | None) -> str:
    """Return the command that deletes a management cluster, or Cluster API from it."""
    from kapy.apps.settings import base_of_planes
    from kapy.cli.daemon import flags_of

    if folder is not None:
        if folder.parent == base_of_planes(os.environ, Path.home()):
            flags = flags_of("" if folder.name == "default" else folder.name, "")
        else:
            flags = flags_of("", str(folder))
        return f"kapy down --delete{flags}"
    named = f" --kubeconfig {options.kubeconfig}" if options.kubeconfig else ""
    context = options.kubeconfig_context
    named += f" --kubeconfig-context {context}" if context else ""
    return f"kapy delete --all --include-crd --include-namespace{named}"
