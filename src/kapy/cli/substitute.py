"""The output of `kapy generate yaml`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kapy.cli.generated_output import run_generator

if TYPE_CHECKING:
    from kapy.clusterctl.config import Config


def substitute(place: str, settings: Config, *, list_variables: bool) -> str:
    """Return the YAML at a place with its variables replaced, or the list of them.

    place: a file or URL; `-` is standard input. Raises ClusterctlError.
    """
    from kapy.clusterctl.templates import template_of, template_variables
    from kapy.clusterctl.templates.sources import is_remote, text_at

    text = run_generator(text_at(place, settings), near=not is_remote(place))
    if list_variables:
        names = template_variables(text).variables
        lines = ["Variables:", *(f"  - {name}" for name in names)] if names else [""]
        return "".join(f"{line}\n" for line in lines)
    from kapy.clusterctl.manifests import text_of

    source = "standard input" if place == "-" else place
    return text_of(template_of(text, settings.variables, source=source).objects)
