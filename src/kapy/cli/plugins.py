"""Plugins: a command NAME can be an executable `clusterctl-NAME` or `kapy-NAME` on the PATH.

Upstream: the clusterctl book, "Plugins". A name of several words is one executable with dashes;
dashes within a word become underscores in the executable's name.
"""

from __future__ import annotations

import os
from collections.abc import Container, Sequence
from typing import Final

PREFIXES: Final = ("kapy", "clusterctl")


def run_plugin(arguments: Sequence[str], own: Container[str]) -> None:
    """Replace this process by the plugin that the arguments name; returns if they name none.

    own: names of our own commands, which plugins cannot replace.
    """
    if not arguments or arguments[0].startswith("-") or arguments[0] in own:
        return
    plugin = plugin_for(arguments)
    if plugin is not None:
        path, words = plugin
        os.execv(path, [path, *arguments[words:]])


def plugin_for(arguments: Sequence[str]) -> tuple[str, int] | None:
    """Return the executable with the longest name that matches the first arguments, and their
    number.
    """
    from shutil import which

    words: list[str] = []
    for argument in arguments:
        if argument.startswith("-"):
            break
        words.append(argument.replace("-", "_"))
    for count in range(len(words), 0, -1):
        for prefix in PREFIXES:
            path = which("-".join((prefix, *words[:count])))
            if path is not None:
                return path, count
    return None
