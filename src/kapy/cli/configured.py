"""The configuration that a command works with."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import click

from kapy.cli.flags import persistent

if TYPE_CHECKING:
    from kapy.clusterctl.config import Config

_DETAIL: Final = 5


def config() -> Config:
    """What `--config`, or else the file in the usual place, and the environment say.

    What it does is told on standard error, as far as -v allows. Raises ConfigError.
    """
    from kapy.clusterctl.config import load

    found = load(persistent().config or None, os.environ)
    highest = verbosity(found)

    def tell(level: int, text: str) -> None:
        if level <= highest:
            click.echo(text, err=True)

    found.tell = tell
    tell(_DETAIL, f'Using configuration file="{found.file.source}"')
    return found


def verbosity(settings: Config) -> int:
    """How much is said: -v, or else CLUSTERCTL_LOG_LEVEL."""
    given = persistent().verbosity
    if given is not None:
        return given
    level = settings.variables.get("CLUSTERCTL_LOG_LEVEL") or ""
    return int(level) if level.isdecimal() else 0
