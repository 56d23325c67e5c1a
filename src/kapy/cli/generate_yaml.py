"""`kapy generate yaml`: replaces the variables in YAML."""

from __future__ import annotations

import click

from kapy.cli.flags import command
from kapy.cli.generated_output import write_text
from kapy.cli.load_config import load_config
from kapy.cli.substitute import substitute


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
    write_text(substitute(place, load_config(), list_variables=list_variables), "", error_prefix="")
