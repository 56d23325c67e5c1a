"""`kapy hooks`: what runtime extensions can be asked."""

from __future__ import annotations

import click

from kapy.cli.flags import command


@command()
@click.option(
    "-o",
    "--output",
    type=click.Choice(["yaml", "json"]),
    default="yaml",
    show_default=True,
    help="How to print it.",
)
def openapi(output: str) -> None:
    """Print the OpenAPI v3 document of all hooks, to generate servers from in any language."""
    from kapy import CLUSTER_API
    from kapy.hooks.catalog import shipped
    from kapy.hooks.openapi.document import openapi as document

    found = document(shipped(), CLUSTER_API)
    if output == "json":
        import json

        click.echo(json.dumps(found, indent=2))
        return
    from kapy.kube.yaml import dump

    click.echo(dump(found), nl=False)
