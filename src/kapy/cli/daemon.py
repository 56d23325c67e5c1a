"""`kapy down`, `status`, `planes` and `logs`: commands for planes that run in the background."""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from kapy.apps.pidfile import (
    NoPlane,
    PlaneRecord,
    WorkerRecord,
    is_claimed,
    running_plane,
    terminate,
)
from kapy.apps.settings import Folder, folder_of
from kapy.cli.flags import command
from kapy.cli.lazy import LazyGroup
from kapy.cli.plane_log import read_log
from kapy.kube.errors import KapyError

if TYPE_CHECKING:
    from kapy.apps.running_pods import RunningPod

STOP_TIMEOUT = 30.0
POLL_SECONDS = 0.05  # only a parent can wait for a process, so it is polled


class StopTimeout(KapyError):
    """The plane did not end in time."""


def chosen_folder(name: str, data_dir: str) -> Folder:
    """Return the folder of the plane from --name or --data-dir."""
    if data_dir:
        return Folder(Path(data_dir).absolute())
    return folder_of(name, os.environ, Path.home())


def resolve_data_dir(name: str, data_dir: str) -> Folder:
    """Return the folder of the plane from --name or --data-dir; or that of the quickstart if
    neither is set and there is no other plane.
    """
    folder = chosen_folder(name, data_dir)
    if not name and not data_dir and not is_claimed(folder):
        quickstart = chosen_folder("quickstart", "")
        if is_claimed(quickstart):
            return quickstart
    return folder


def flags_of(name: str, data_dir: str) -> str:
    """Return the flags by which `kapy down` selects that plane: "", or a flag after a space."""
    if data_dir:
        return f" --data-dir {shlex.quote(data_dir)}"
    return f" --name {shlex.quote(name)}" if name else ""


name_option = click.option("--name", default="", help="Name of the plane.")
data_dir_option = click.option("--data-dir", default="", help="Folder of the plane.")


@command()
@name_option
@data_dir_option
@click.option("--delete", is_flag=True, help="Delete the plane with all of its data, too.")
@click.option("-y", "--yes", is_flag=True, help="Delete without a question.")
def down(name: str, data_dir: str, delete: bool, yes: bool) -> None:
    """Stop a plane that runs in the background; its data stay, unless --delete is given."""
    if yes and not delete:
        raise click.UsageError("--yes answers the question of --delete")
    folder = resolve_data_dir(name, data_dir)
    if not delete:
        _stop(folder)
        return
    from kapy.apps.planes import delete_plane, is_plane

    if not is_plane(folder):
        raise NoPlane(
            f"there is no management plane in {folder.path}; `kapy planes` lists those there are"
        )
    if not yes:
        _confirm_delete(folder)
    if is_claimed(folder):
        _stop(folder)
    problem = _delete_containers(folder)
    rest = delete_plane(folder)
    click.echo(f"deleted the management plane in {folder.path}")
    if rest:
        click.echo(f"the folder stays, as other things are in it: {', '.join(rest)}")
    if problem:
        click.echo(problem, err=True)


def _delete_containers(folder: Folder) -> str:
    """Remove the containers of a plane; returns a sentence about those that remain, or ""."""
    if not folder.containers.exists():
        return ""
    from kapy.cli.event_loop import run
    from kapy.node_agent.containers.leftovers import remove_all

    return run(remove_all(folder.path, folder.node))


def _confirm_delete(folder: Folder) -> None:
    """Ask the user to confirm the deletion of a folder. Raises Abort if the user declines,
    UsageError if there is no terminal.
    """
    from kapy.apps.planes import size_of

    if not sys.stdin.isatty():
        raise click.UsageError("--delete asks on a terminal; say --yes where there is none")
    runs = ", which runs," if is_claimed(folder) else ""
    size = f"{size_of(folder) / 1e6:.1f} MB"
    question = f"Delete the management plane in {folder.path}{runs} with all of its data ({size})?"
    click.confirm(question, abort=True)


def _stop(folder: Folder) -> None:
    try:
        pid = terminate(folder)
    except NoPlane as error:
        raise NoPlane(f"{error}{_running_elsewhere()}") from None
    deadline = time.monotonic() + STOP_TIMEOUT
    while is_claimed(folder):
        if time.monotonic() > deadline:
            raise StopTimeout(
                f"the plane (process {pid}) still ends its work after {STOP_TIMEOUT:g} s; "
                f"look at {folder.log}"
            )
        time.sleep(POLL_SECONDS)
    click.echo(f"stopped the management plane in {folder.path}")


@command()
@click.option("-o", "--output", type=click.Choice(["json"]), help="Print JSON.")
def planes(output: str | None) -> None:
    """List the planes of this user, running or not.

    Those are the ones with a name; `kapy status --data-dir` tells of one in another folder.
    """
    from kapy.apps.planes import planes_in
    from kapy.apps.settings import base_of_planes
    from kapy.cli.columns import columns

    base = base_of_planes(os.environ, Path.home())
    result = list(planes_in(base))
    if output == "json":
        value = [
            {**asdict(plane_state), "folder": str(plane_state.folder.path)}
            for plane_state in result
        ]
        click.echo(json.dumps(value, indent=2))
    elif not result:
        click.echo(f"there is no management plane in {base}; `kapy up` starts one", err=True)
    else:
        heads = ("NAME", "STATE", "PORT", "SINCE", "VERSION", "FOLDER")
        rows = [
            (
                plane_state.name,
                plane_state.state,
                str(urlsplit(plane_state.server).port or "-"),
                plane_state.since or "-",
                plane_state.version or "-",
                str(plane_state.folder.path),
            )
            for plane_state in result
        ]
        click.echo(columns([heads, *rows]), nl=False)


@command()
@name_option
@data_dir_option
@click.option("-o", "--output", type=click.Choice(["json"]), help="Print JSON.")
def status(name: str, data_dir: str, output: str | None) -> None:
    """Say whether a plane runs, and where. Exit code 1 when none does."""
    folder = resolve_data_dir(name, data_dir)
    record = running_plane(folder)
    if output == "json":
        report = {"running": record is not None, "folder": str(folder.path)}
        report |= {"disk": _disk(folder)} if record else {}
        report |= {"pods": [asdict(pod) for pod in _pods(record, folder)]} if record else {}
        click.echo(json.dumps(report | (asdict(record) if record else {}), indent=2))
        raise click.exceptions.Exit(0 if record else 1)
    if record is None:
        starting = " (one is starting)" if is_claimed(folder) else ""
        raise NoPlane(f"no management plane runs in {folder.path}{starting}{_running_elsewhere()}")
    click.echo(f"a management plane runs at {record.server} since {record.started}")
    click.echo(f"  process     {record.pid}")
    click.echo(f"  folder      {folder.path}")
    click.echo(f"  kubeconfig  {record.kubeconfig}, context {record.context}")
    for worker in record.workers:
        click.echo(f"  {worker.name:<11} {_worker_state(worker)}")
    if record.clock:
        click.echo(f"  clock       {record.clock}")
    if trouble := _disk(folder):
        click.echo(f"  disk        {trouble}")
    _print_pods(_pods(record, folder))


def _worker_state(worker: WorkerRecord) -> str:
    if worker.state == "waiting":
        return "is not needed yet: it starts when there are many clusters"
    died = f", deaths: {worker.restarts}" if worker.restarts else ""
    process = f"process {worker.pid}, " if worker.pid else ""
    return f"{process}{worker.state}{died}"


def _running_elsewhere() -> str:
    """Return a remark about the planes of this user that run, with their flags; "" for none."""
    from kapy.apps.planes import planes_in
    from kapy.apps.settings import base_of_planes

    base = base_of_planes(os.environ, Path.home())
    flags = [f"--name {state.name}" for state in planes_in(base) if state.state == "running"]
    return f" (there are others: {', '.join(flags)})" if flags else ""


def _disk(folder: Folder) -> str:
    """Return the sentence of a full disk under the folder of a plane, "" for none."""
    from kapy.node_agent.full_disk import disk_trouble

    return disk_trouble(folder.path)


def _pods(record: PlaneRecord, folder: Folder) -> list[RunningPod]:
    """Return the Pods of a plane; if the plane does not answer, no Pods and a sentence about the
    reason.
    """
    if not folder.node.is_dir():
        return []
    from kapy.apps.running_pods import running_pods
    from kapy.cli.client_options import open_client
    from kapy.client.blocking import run_without_loop

    try:
        with open_client(record.kubeconfig, record.context, "") as there:
            return run_without_loop(running_pods(there.client, folder.path, _memory(folder)))
    except KapyError as error:
        click.echo(f"what it runs is not known: {error}", err=True)
        return []


def _memory(folder: Folder) -> Mapping[str, int]:
    """Return the memory of containers in bytes, by Pod UID."""
    if not folder.containers.exists():
        return {}
    from kapy.apps.container_memory import memory_of_containers
    from kapy.cli.event_loop import run

    return run(memory_of_containers(folder.path, folder.node))


def _print_pods(pods: Sequence[RunningPod]) -> None:
    if not pods:
        return
    from kapy.cli.columns import columns

    heads = ("PROVIDER", "VERSION", "STATE", "SINCE", "RESTARTS", "MEMORY", "POD")
    rows = [
        (
            running_pod.provider or "-",
            running_pod.version or "-",
            running_pod.state,
            running_pod.since or "-",
            str(running_pod.restarts),
            f"{running_pod.memory / 1e6:.0f} MB" if running_pod.memory else "-",
            f"{running_pod.namespace}/{running_pod.name}",
        )
        for running_pod in pods
    ]
    click.echo()
    click.echo(columns([heads, *rows]), nl=False)
    for pod in pods:
        if pod.message:
            click.echo(f"{pod.provider or pod.name}: {pod.message}")


@click.pass_context
def _logs(context: click.Context, /, name: str, data_dir: str, follow: bool) -> None:
    if context.invoked_subcommand is None:
        _print_log(resolve_data_dir(name, data_dir), follow=follow)


LOGS = LazyGroup(
    "logs",
    help="Print the log of a background plane; `kapy logs machine` prints logs of a Machine.",
    commands_at={"machine": ("kapy.cli.machine_logs:machine", "Print the logs of a Machine.")},
    invoke_without_command=True,
    callback=_logs,
    params=[
        click.Option(["--name"], default="", help="Name of the plane."),
        click.Option(["--data-dir"], default="", help="Folder of the plane."),
        click.Option(["-f", "--follow"], is_flag=True, help="Go on until Ctrl-C."),
    ],
)


def _print_log(folder: Folder, *, follow: bool) -> None:
    if not folder.log.exists():
        raise NoPlane(
            f"there is no log at {folder.log}: no plane ran in the background there"
            f"{_running_elsewhere()}"
        )
    for line in read_log(folder.log, lambda: follow and is_claimed(folder)):
        click.echo(line, nl=False)
