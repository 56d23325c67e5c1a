"""`kapy config repositories`: lists the providers and their repositories."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import click

from kapy.cli.columns import columns
from kapy.cli.flags import command
from kapy.cli.load_config import load_config
from kapy.clusterctl.provider import Provider

_OUTPUTS = ("yaml", "text")


@command()
@click.option(
    "-o", "--output", default="text", show_default=True, help="Output format: yaml or text."
)
def repositories(output: str) -> None:
    """Display the list of providers and their repository configurations.

    kapy ships with a list of known providers; edit cluster-api/clusterctl.yaml below
    $XDG_CONFIG_HOME to add one or to customize those of the list.
    """
    if output not in _OUTPUTS:
        raise click.UsageError(
            f'invalid output format "{output}", valid values: [{" ".join(_OUTPUTS)}]'
        )
    listed = load_config().providers
    click.echo(_yaml(listed) if output == "yaml" else _table(listed), nl=False)


def _yaml(providers: Iterable[Provider]) -> str:
    from kapy.kube import yaml

    return yaml.dump(
        [
            {"Name": name, "ProviderType": kind, "URL": folder, "File": file}
            for name, kind, folder, file in map(_row, providers)
        ]
    )


def _table(providers: Iterable[Provider]) -> str:
    rows: list[Sequence[str]] = [("NAME", "TYPE", "URL", "FILE"), *map(_row, providers)]
    return columns(rows)


def _row(provider: Provider) -> tuple[str, str, str, str]:
    folder, slash, file = provider.url.rpartition("/")
    return provider.name, provider.type.value, folder + slash, file
