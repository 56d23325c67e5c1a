"""A new provider project: kinds, provider code, contract tests, templates, container file."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from kapy import __version__
from kapy.apps.new_project import check_name, make_project
from kapy.sdk.provider import ProviderType


def make_provider(name: str, of_type: ProviderType, folder: Path) -> list[Path]:
    """Write the project of a `ProviderType`; returns its files. Raises CannotMake."""
    check_name(name)
    module = name.replace("-", "_")
    words = {
        "name": name,
        "type": of_type,
        "module": module,
        "kind": "".join(part.capitalize() for part in module.split("_")),
        "variable": module.upper(),
        "kapy": __version__,
    }
    templates = [files(__name__) / item for item in ("every", of_type)]
    return make_project(templates, folder, words)
