"""`kapy service`: runs a plane as a service of the user, which survives reboots."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from kapy import __version__
from kapy.apps.pidfile import NoPlane, PlaneIsRunning, PlaneRecord, is_claimed, running_plane
from kapy.apps.settings import Folder
from kapy.cli.daemon import chosen_folder, data_dir_option, name_option
from kapy.cli.flags import command

if TYPE_CHECKING:
    from kapy.apps.service import Supervisor

READY_SECONDS: Final = 120.0
"""Seconds that a plane has to become ready. A timer: a supervisor tells of processes only."""
FAILED_SECONDS: Final = 1.0
"""Seconds without a process after which a plane counts as ended: a supervisor that starts it
anew waits longer."""
POLL_SECONDS: Final = 0.1


@command()
@name_option
@data_dir_option
@click.option("--print", "only_print", is_flag=True, help="Print the unit, and install nothing.")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def install(name: str, data_dir: str, only_print: bool, arguments: tuple[str, ...]) -> None:
    """Run a plane as a service of this user, now and at every boot.

    Arguments of `kapy up` come after `--`. Run it again after an upgrade of kapy, or with other
    arguments: the plane is started anew, with its data.
    """
    from kapy.apps.service import service_plan, supervisor

    flags = (*(("--data-dir", str(Path(data_dir).absolute())) if data_dir else ()), *arguments)
    _check(name, flags)
    folder = chosen_folder(name, data_dir)
    plan = service_plan(name, folder, flags, os.environ)
    manager = supervisor(os.environ, Path.home())
    if only_print:
        click.echo(manager.text(plan).decode(), nl=False)
        return
    if is_claimed(folder) and not manager.state(name).active:
        raise PlaneIsRunning(
            f"a management plane runs in {folder.path} already, and not as a service; stop it with "
            "`kapy down`, then install the service"
        )
    folder.make()
    path = manager.path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(manager.text(plan))
    remark = manager.start(name)
    record = _wait_until_ready(manager, name, folder)
    click.echo(f"the plane in {folder.path} runs as a service ({path})")
    if record is not None:
        click.echo(f"management plane at {record.server}")
        click.echo(f"kubectl context {record.context} is current (in {record.kubeconfig})")
    else:
        click.echo(f"it is not ready after {READY_SECONDS:g} s: {folder.log} says what it does")
    if remark:
        click.echo(remark)


@command()
@name_option
def uninstall(name: str) -> None:
    """End a plane's service; its data stay."""
    from kapy.apps.service import supervisor

    manager = supervisor(os.environ, Path.home())
    path = manager.path(name)
    if not path.exists():
        raise NoPlane(_missing(name, path))
    manager.stop(name)
    path.unlink()
    click.echo(f"removed {path}; the data of the plane stay")


@command()
@name_option
@data_dir_option
def status(name: str, data_dir: str) -> None:
    """Say whether a plane runs as a service, and in which version. Exit code 1 where none does."""
    from kapy.apps.service import supervisor

    manager = supervisor(os.environ, Path.home())
    path, state = manager.path(name), manager.state(name)
    if not state.installed:
        raise NoPlane(_missing(name, path))
    folder = chosen_folder(name, data_dir)
    click.echo(f"service     {path}")
    click.echo(f"state       {'active' if state.active else state.detail or 'not active'}")
    _print_plane(folder, name)
    raise click.exceptions.Exit(0 if state.active else 1)


def _wait_until_ready(manager: Supervisor, name: str, folder: Folder) -> PlaneRecord | None:
    """Return the plane when it is ready, None after READY_SECONDS. Raises DidNotStart."""
    from kapy.cli.background import DidNotStart, last_words

    began = active = time.monotonic()
    while (now := time.monotonic()) < began + READY_SECONDS:
        if (record := running_plane(folder)) is not None:
            return record
        if manager.state(name).active:
            active = now
        elif now > active + FAILED_SECONDS:
            flag = f" --name {name}" if name else ""
            raise DidNotStart(
                f"the service is installed, but its plane ends at once: {last_words(folder.log)} "
                f"(`kapy service install{flag}` with other arguments replaces it, "
                f"`kapy service uninstall{flag}` removes it)"
            )
        time.sleep(POLL_SECONDS)
    return None


def _print_plane(folder: Folder, name: str) -> None:
    record = running_plane(folder)
    if record is None:
        click.echo(f"plane       none is ready in {folder.path}; `kapy logs` says why")
        return
    click.echo(f"plane       {record.server} since {record.started}")
    click.echo(f"version     {record.version}")
    if record.version != __version__:
        flag = f" --name {name}" if name else ""
        click.echo(
            f"kapy {__version__} is installed by now: `kapy service install{flag}` starts the "
            "plane anew with it"
        )


def _missing(name: str, path: Path) -> str:
    flag = f" --name {name}" if name else ""
    return (
        f"no service of that plane is installed (there is no {path}); `kapy service install{flag}` "
        "installs one"
    )


def _check(name: str, arguments: tuple[str, ...]) -> None:
    """Raises click.UsageError for arguments that `kapy up` or a service does not support."""
    from kapy.cli.up import up

    context = up.make_context("up", [*(("--name", name) if name else ()), *arguments])
    for flag, option in (("detach", "--detach"), ("in_memory", "--in-memory")):
        if context.params.get(flag):
            raise click.UsageError(f"{option} makes no sense for a service; leave it out")
