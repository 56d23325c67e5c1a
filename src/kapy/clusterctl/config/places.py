"""The locations of configuration, overrides and cached files, by the XDG base directories."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_FOLDER: Final = "cluster-api"
_OLD_FOLDER: Final = ".cluster-api"


def home(environ: Mapping[str, str]) -> Path:
    """Return the user's home directory."""
    return Path(environ["HOME"]) if environ.get("HOME") else Path.home()


def config_folders(environ: Mapping[str, str]) -> list[Path]:
    """Return the folders in which `clusterctl.yaml` and `overrides` are looked for, in this
    order.
    """
    usual = "Library/Application Support" if sys.platform == "darwin" else ".config"
    return [_xdg(environ, "XDG_CONFIG_HOME", usual) / _FOLDER, home(environ) / _OLD_FOLDER]


def cache_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder of downloads."""
    usual = "Library/Caches" if sys.platform == "darwin" else ".cache"
    return _xdg(environ, "XDG_CACHE_HOME", usual) / _FOLDER


def _xdg(environ: Mapping[str, str], name: str, usual: str) -> Path:
    # The specification says to ignore relative paths.
    path = Path(environ.get(name, ""))
    return path if path.is_absolute() else home(environ) / usual
