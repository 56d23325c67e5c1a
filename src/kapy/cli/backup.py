"""`kapy backup` and `kapy restore`."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO

import click

from kapy._aio.clock import system_clock
from kapy.apps import restore as restoring
from kapy.apps.backup import back_up, back_up_to
from kapy.cli.daemon import chosen_folder, data_dir_option, name_option, resolve_data_dir
from kapy.cli.flags import command


@command()
@click.argument("file")
@name_option
@data_dir_option
@click.option("--force", is_flag=True, help="Replace existing data.")
def restore(file: str, name: str, data_dir: str, force: bool) -> None:
    """Put the backup in FILE (`-`: standard input) back, of a plane that does not run."""
    folder = chosen_folder(name, data_dir)
    with _open(file) as source:
        manifest, state = restoring.restore(folder, source, force=force)
    click.echo(
        f"{state.objects} objects as of {manifest.taken} are in {folder.path}; resourceVersions "
        f"go on from {state.revision}"
    )


def _open(file: str) -> AbstractContextManager[IO[bytes]]:
    if file == "-":
        return nullcontext(sys.stdin.buffer)
    try:
        return Path(file).open("rb")
    except OSError as error:
        raise restoring.UnusableBackup(f"cannot read {file}: {error.strerror}") from None


@command()
@click.argument("file")
@name_option
@data_dir_option
def backup(file: str, name: str, data_dir: str) -> None:
    """Save a plane in FILE (`-`: standard output), also while it runs.

    The file holds private keys and Secrets.
    """
    folder = resolve_data_dir(name, data_dir)
    if file == "-":
        if sys.stdout.isatty():
            raise click.UsageError("a backup is no text: redirect standard output, or name a file")
        manifest = back_up(folder, sys.stdout.buffer, system_clock())
    else:
        manifest = back_up_to(folder, Path(file), system_clock())
    where = "standard output" if file == "-" else file
    click.echo(
        f"{manifest.objects} objects of {folder.path} as of resourceVersion "
        f"{manifest.resource_version} are in {where}; it holds private keys",
        err=file == "-",
    )
