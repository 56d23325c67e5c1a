"""`kapy components`."""

from __future__ import annotations

from pathlib import Path

import click

from kapy.cli.flags import command
from kapy.cli.manager import KINDS


@command()
@click.argument("name", type=click.Choice(list(KINDS)))
@click.option(
    "--release",
    metavar="DIR",
    default="",
    help="Write a release into DIR instead, which kapy init and clusterctl install from.",
)
@click.option("--image", default="", help="The image to run; kapy with this version as its tag.")
def components(name: str, release: str, image: str) -> None:
    """Print what installs one of kapy's managers: CRDs, rights, Deployment, webhooks.

    Variables in it are clusterctl's: `kapy init` fills them in, and `kapy generate yaml` does.
    """
    from kapy.apps.manager.components import IMAGE, components_of
    from kapy.apps.manager.release import write_release
    from kapy.kube.yaml import dump_all

    if not release:
        click.echo(dump_all(components_of(name, image or IMAGE)), nl=False)
        return
    place = write_release(name, Path(release), image or IMAGE)
    for path in sorted(place.iterdir()):
        click.echo(path)
