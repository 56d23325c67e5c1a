"""`kapy generate yaml`."""

from __future__ import annotations

import click

from kapy.cli.configured import config
from kapy.cli.flags import command
from kapy.cli.generated import finished, write


@command()
@click.option(
    "--from",
    "place",
    default="-",
    show_default=True,
    help="File or URL to read the template from; - is standard input.",
)
@click.option("--list-variables", is_flag=True, help="Only list the variables that it has.")
def yaml(place: str, *, list_variables: bool) -> None:
    """Replace the variables in YAML.

    Values come from the environment or from the configuration file.
    """
    from kapy.clusterctl.templates import listed, template_of
    from kapy.clusterctl.templates.sources import is_far, text_at

    settings = config()
    text = finished(text_at(place, settings), near=not is_far(place))
    if not list_variables:
        source = "standard input" if place == "-" else place
        write(template_of(text, settings.variables, source=source).objects, "")
        return
    names = listed(text).variables
    click.echo("\n".join(["Variables:", *(f"  - {one}" for one in names)]) if names else "")
