"""`kapy version`: prints the versions of kapy and of the emulated clusterctl."""

from __future__ import annotations

import json
import platform
from typing import Any, Final

import click

from kapy import CLUSTER_API, __version__
from kapy.cli.flags import command


@command()
@click.option("-o", "--output", default="", help="json, yaml or short.")
def version(output: str) -> None:
    """Print the version: of kapy, and of the clusterctl that it stands in for.

    short is the latter alone, which scripts made for clusterctl expect there.
    """
    if output == "":
        click.echo(f"kapy {__version__}")
    elif output == "short":
        click.echo(CLUSTER_API)
    elif output == "json":
        click.echo(json.dumps(_version_document(), indent=2))
    elif output == "yaml":
        from kapy.kube.yaml import dump

        click.echo(dump(_version_document()), nl=False)
    else:
        raise click.UsageError(f"invalid output format: {output}; there are json, yaml and short")


def _version_document() -> dict[str, Any]:
    architecture = _GO_PLATFORM_NAMES.get(platform.machine(), "")
    major, minor, _ = CLUSTER_API.removeprefix("v").split(".")
    return {
        "version": __version__,
        "python": platform.python_version(),
        "platform": f"{platform.system().lower()}/{platform.machine()}",
        "clusterAPI": {"version": CLUSTER_API, "contract": "v1beta2"},
        "clusterctl": {
            "major": major,
            "minor": minor,
            "gitVersion": CLUSTER_API,
            "compiler": platform.python_implementation(),
            "platform": f"{platform.system().lower()}/{architecture}",
        },
    }


_GO_PLATFORM_NAMES: Final = {"x86_64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
