"""What is asked often, also by scripts, and answered before click is imported.

Importing click takes longer than all the rest of these commands. What is not answered here, errors
and unusual flags among it, goes the usual way.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from kapy import __version__
from kapy.cli.output import given_up

_LEVEL = "CLUSTERCTL_LOG_LEVEL"


def answered(arguments: Sequence[str]) -> bool:
    """Whether this was a question that is answered here."""
    text = _answer(list(arguments))
    if text is None:
        return False
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        sys.exit(given_up(error))
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
            return _replaced(place)
    return None


def _replaced(place: str) -> str | None:
    """Only what is in a file, and where nothing is to be told: a stream is read only once."""
    if place == "-" or not os.path.isfile(place) or os.environ.get(_LEVEL):
        return None
    from kapy.cli.replaced import replaced
    from kapy.clusterctl.config import load
    from kapy.kube.errors import KapyError

    try:
        settings = load(None, os.environ)
        if settings.variables.get(_LEVEL):
            return None
        return replaced(place, settings, list_variables=False)
    except KapyError:
        return None
