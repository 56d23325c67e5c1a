"""`kapy components`: prints the manifests that install one of kapy's managers."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from kapy.cli.flags import command
from kapy.cli.manager import KINDS

_WITH_ENGINE: Final = "infrastructure-dev"


@command()
@click.argument("name", type=click.Choice(list(KINDS)))
@click.option(
    "--release",
    metavar="DIR",
    default="",
    help="Write a release into DIR instead, which kapy init and clusterctl install from.",
)
@click.option("--image", default="", help="The image to run; kapy with this version as its tag.")
@click.option(
    "--engine-socket",
    metavar="PATH",
    default="",
    help="Socket of the container engine on the nodes, usually /var/run/docker.sock, for the pod "
    "of infrastructure-dev: it runs as root then.",
)
def components(name: str, release: str, image: str, engine_socket: str) -> None:
    """Print what installs one of kapy's managers: CRDs, rights, Deployment, webhooks.

    Variables in it are clusterctl's: `kapy init` fills them in, and `kapy generate yaml` does.
    """
    from kapy.apps.manager.components import IMAGE, components_of
    from kapy.apps.manager.release import write_release
    from kapy.kube.yaml import dump_all

    if engine_socket and name != _WITH_ENGINE:
        raise click.UsageError(
            f"--engine-socket is for {_WITH_ENGINE}, not for {name}: leave it out"
        )
    if engine_socket and not engine_socket.startswith("/"):
        raise click.UsageError(
            f"--engine-socket is {engine_socket!r}, which is no path on a node: write it as "
            "/var/run/docker.sock, without unix://"
        )
    if not release:
        click.echo(dump_all(components_of(name, image or IMAGE, engine_socket)), nl=False)
        return
    place = write_release(name, Path(release), image or IMAGE, engine_socket)
    for path in sorted(place.iterdir()):
        click.echo(path)
