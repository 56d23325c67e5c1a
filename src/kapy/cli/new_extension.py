"""`kapy new extension`."""

from __future__ import annotations

from pathlib import Path

import click

from kapy.cli.flags import command


@command(missing="please name the extension")
@click.argument("name")
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=None,
    help="Folder of the new project (default: a new folder of that name).",
)
def extension(name: str, folder: Path | None) -> None:
    """Begin a runtime extension in Python: code, tests, container file, and a release that
    `kapy init --runtime-extension NAME` installs."""
    from kapy.apps.extension_server.project import make_extension

    where = folder or Path(name)
    for path in make_extension(name, where):
        click.echo(where / path)
    click.echo(f"\nGo on with README.md there: cd {where} && make test", err=True)
