"""A fast path for frequent commands, which runs before click is imported.

Importing click takes longer than all the rest of these commands. Anything else, such as errors and
unusual flags, is handled by the full command line.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from kapy import __version__
from kapy.cli.output import write_failure_code

_LEVEL = "CLUSTERCTL_LOG_LEVEL"


def try_fast_path(arguments: Sequence[str]) -> bool:
    """Return whether the fast path handled these arguments."""
    text = _answer(list(arguments))
    if text is None:
        return False
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        sys.exit(write_failure_code(error))
    return True


def _answer(arguments: list[str]) -> str | None:
    match arguments:
        case ["--version"] | ["version"]:
            return f"kapy {__version__}\n"
        case ["--help"] | ["-h"]:
            from kapy.cli.tree import root_help

            return root_help()
        case ["completion", shell]:
            from kapy.cli.completion_code import CODE

            return CODE.get(shell)
        case ["generate", "yaml", "--from", place]:
            return _replace_variables(place)
    return None


def _replace_variables(place: str) -> str | None:
    """Handles only local files without log messages: a stream can be read only once."""
    if place == "-" or not os.path.isfile(place) or os.environ.get(_LEVEL):
        return None
    from kapy.cli.substitute import substitute
    from kapy.clusterctl.config import load
    from kapy.kube.errors import KapyError

    try:
        settings = load(None, os.environ)
        if settings.variables.get(_LEVEL):
            return None
        return substitute(place, settings, list_variables=False)
    except KapyError:
        return None
