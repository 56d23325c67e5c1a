"""`kapy new`: creates projects of extensions and providers in Python."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kapy.cli.flags import command

if TYPE_CHECKING:
    from kapy.sdk.provider import ProviderType


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


@command(missing="please name the provider")
@click.argument("name")
@click.option(
    "--kind",
    "of_type",
    type=click.Choice(["infrastructure", "bootstrap", "control-plane", "ipam"]),
    default="infrastructure",
    show_default=True,
    help="Type of the provider.",
)
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=None,
    help="Folder of the new project (default: a new folder of that name).",
)
def provider(name: str, of_type: ProviderType, folder: Path | None) -> None:
    """Begin a provider in Python: kinds, decisions, tests by the contracts, container file, and a
    release that `kapy init` installs."""
    from kapy.apps.provider.project import make_provider

    where = folder or Path(name)
    for path in make_provider(name, of_type, where):
        click.echo(where / path)
    click.echo(f"\nGo on with README.md there: cd {where} && make test", err=True)
