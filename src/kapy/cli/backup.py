"""`kapy backup`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from kapy._aio.clock import system_clock
from kapy.apps.backup import back_up, back_up_to
from kapy.cli.daemon import data_dir_option, name_option, resolve_data_dir
from kapy.cli.flags import command


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
