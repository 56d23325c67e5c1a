"""`kapy conformance check`, and how reports are printed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kapy.cli.flags import command

if TYPE_CHECKING:
    from kapy.testing.conformance.findings import Report

_CODES = {"MUST": 2, "SHOULD": 3, "MAY": 4}

output_option = click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json", "junit", "html"]),
    default="text",
    show_default=True,
    help="Output format of the report.",
)
fail_on = click.option(
    "--fail-on",
    type=click.Choice(list(_CODES), case_sensitive=False),
    default="MUST",
    show_default=True,
    help="The lowest level of rules whose breach makes the exit code another than 0.",
)


@command(missing="please name a file or a folder")
@click.argument("path", type=click.Path(path_type=Path))
@output_option
@fail_on
def check(path: Path, output: str, fail_on: str) -> int:
    """Check a provider's release by the written contracts, without a cluster.

    PATH is a release's folder, a folder of releases, or one file. The check judges the files: CRDs,
    rights, Deployment, metadata, cluster templates and ClusterClasses. It reports the rules that
    only a running provider can show as not run.

    The exit code is 0 where nothing is broken, 2 where a MUST is, 3 where a SHOULD is, 4 where a
    MAY is (the first of these, down to --fail-on), and 1 where something cannot be read. A
    template that cannot be read does not keep the rest of its release from being judged.
    """
    from kapy.testing.conformance.check import check_releases

    return print_reports(check_releases(path), output, fail_on)


def print_reports(reports: Sequence[Report], output: str, fail_on: str) -> int:
    """Print reports; returns the exit code for their findings."""
    from kapy.testing.conformance.findings import worst_of
    from kapy.testing.conformance.reports import FORMATS

    click.echo(FORMATS[output](reports).encode("utf-8", "replace"), nl=False)
    troubles = [report.trouble for report in reports if report.trouble]
    for trouble in troubles:
        click.echo(f"Error: {trouble}", err=True)
    worst = worst_of(reports)
    code = _CODES[worst.value] if worst else 0
    return (code if code <= _CODES[fail_on] else 0) or bool(troubles)
