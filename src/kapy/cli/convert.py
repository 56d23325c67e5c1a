"""`kapy convert`: converts manifests of core kinds to the newest version of their API."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from kapy.cli.flags import command
from kapy.cli.generated_output import write_text


@command(missing="accepts at most 1 arg(s)")
@click.argument("source", required=False)
@click.option("-o", "--output", default="", help="File to write to, instead of standard output.")
@click.option(
    "--to-version", default="v1beta2", show_default=True, help="Version of the API to convert to."
)
@click.option(
    "--complete",
    is_flag=True,
    help="Keep what clusterctl drops: references to providers' objects, and minReadySeconds.",
)
def convert(source: str | None, output: str, to_version: str, *, complete: bool) -> None:
    """Convert manifests of Cluster API's core kinds to the newest version of their API.

    SOURCE is a file; without one, standard input. Only kinds of cluster.x-k8s.io are converted,
    all others pass. Fields are sorted; comments stay at theirs.
    """
    from kapy.clusterctl.convert import TARGETS
    from kapy.clusterctl.convert import convert as converted

    if to_version not in TARGETS:
        raise click.UsageError(
            f'invalid --to-version value "{to_version}". Supported versions are: '
            f"{', '.join(TARGETS)}"
        )
    click.echo(
        "WARNING: This command is EXPERIMENTAL and may be removed in a future release!", err=True
    )
    text = _read(source)
    result = converted(text, to_version, source or "standard input", complete=complete)
    write_text(result.text, output, error_prefix="failed to write output file")
    for loss in result.losses:
        click.echo(f"Warning: {loss}; --complete keeps it", err=True)
    click.echo(
        f"Converted {result.converted} resource(s) to {to_version}. "
        f"{result.passed_through} resource(s) passed through unchanged.",
        err=True,
    )


def _read(source: str | None) -> str:
    from kapy.clusterctl.errors import ClusterctlError

    if source is None:
        return sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
    try:
        return Path(source).read_bytes().decode("utf-8", "surrogateescape")
    except (OSError, ValueError) as error:
        reason = error.strerror.lower() if isinstance(error, OSError) and error.strerror else error
        raise ClusterctlError(
            f'failed to read input file "{source}": open {source}: {reason}'
        ) from None
