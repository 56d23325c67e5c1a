"""`kapy restore`."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO

import click

from kapy.apps import restore as restoring
from kapy.cli.daemon import chosen_folder, data_dir_option, name_option
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
