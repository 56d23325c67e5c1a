"""`kapy version`."""

from __future__ import annotations

import json
import platform

import click

from kapy import __version__


@click.command()
@click.option("-o", "--output", type=click.Choice(["json"]), help="Print JSON.")
def version(output: str | None) -> None:
    """Print the version."""
    if output is None:
        click.echo(f"kapy {__version__}")
        return
    told = {
        "version": __version__,
        "python": platform.python_version(),
        "platform": f"{platform.system().lower()}/{platform.machine()}",
        "clusterAPI": {"version": "v1.14", "contract": "v1beta2"},
    }
    click.echo(json.dumps(told, indent=2))
