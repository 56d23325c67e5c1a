"""Commands of others: an executable `clusterctl-NAME` or `kapy-NAME` on the PATH.

Upstream: the clusterctl book, "Plugins". A name of several words is one executable with dashes;
dashes within a word are underscores in the executable's name.
"""

from __future__ import annotations

import os
from collections.abc import Container, Sequence
from typing import Final

PREFIXES: Final = ("kapy", "clusterctl")


def run_if_meant(arguments: Sequence[str], own: Container[str]) -> None:
    """Becomes the plug-in that the arguments name; returns where they name none.

    own: names of our own commands, which no plug-in replaces.
    """
    if not arguments or arguments[0].startswith("-") or arguments[0] in own:
        return
    found = plugin_for(arguments)
    if found is not None:
        path, words = found
        os.execv(path, [path, *arguments[words:]])


def plugin_for(arguments: Sequence[str]) -> tuple[str, int] | None:
    """The executable with the longest name that the arguments begin with, and how many of them
    are its name."""
    from shutil import which

    words: list[str] = []
    for one in arguments:
        if one.startswith("-"):
            break
        words.append(one.replace("-", "_"))
    for count in range(len(words), 0, -1):
        for prefix in PREFIXES:
            path = which("-".join((prefix, *words[:count])))
            if path is not None:
                return path, count
    return None
