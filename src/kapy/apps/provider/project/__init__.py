"""A new provider: kinds, decisions on a page, tests by the contracts, templates, container file."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Final

from kapy import __version__
from kapy.apps.new_project import CannotMake, check_name, make_project

TYPES: Final = ("infrastructure", "bootstrap", "ipam")


def make_provider(name: str, of_type: str, folder: Path) -> list[Path]:
    """Write the project; returns its files. Raises CannotMake."""
    check_name(name)
    if of_type not in TYPES:
        raise CannotMake(
            f"there is no project of type {of_type} yet, only {', '.join(TYPES)}; the questions of "
            "kapy.sdk for it are in docs/reference/sdk.md"
        )
    module = name.replace("-", "_")
    words = {
        "name": name,
        "type": of_type,
        "module": module,
        "kind": "".join(part.capitalize() for part in module.split("_")),
        "variable": module.upper(),
        "kapy": __version__,
    }
    templates = [files(__name__) / one for one in ("every", of_type)]
    return make_project(templates, folder, words)
