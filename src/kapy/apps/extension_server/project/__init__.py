"""A new runtime extension project: code with a handler, tests, and a release for clusterctl.

The release is a provider for clusterctl (type RuntimeExtensionProvider): two replicas behind one
Service, which share a CA in a Secret and have no rights except on that Secret. Core injects the CA
from there into the ExtensionConfig (`inject-ca-from-secret`).
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from kapy import __version__
from kapy.apps.new_project import check_name, make_project


def make_extension(name: str, folder: Path) -> list[Path]:
    """Write the project; returns its files. Raises CannotMake."""
    check_name(name)
    words = {
        "name": name,
        "module": f"{name.replace('-', '_')}_extension",
        "kapy": __version__,
    }
    return make_project([files(__name__) / "files"], folder, words)
