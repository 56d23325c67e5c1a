"""Loads the configuration of a command."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import click

from kapy.cli.flags import persistent
from kapy.kube.digits import parse_digits

if TYPE_CHECKING:
    from kapy.clusterctl.config import Config

_DETAIL: Final = 5


def load_config() -> Config:
    """Return the configuration of `--config` or the default location, and of the environment.

    Its log messages go to standard error, at the level of -v. Raises ConfigError.
    """
    from kapy.clusterctl.config import load

    config = load(persistent().config or None, os.environ)
    highest = verbosity(config)

    def tell(level: int, text: str) -> None:
        if level <= highest:
            click.echo(text, err=True)

    config.tell = tell
    tell(_DETAIL, f'Using configuration file="{config.file.source}"')
    return config


def verbosity(settings: Config) -> int:
    """Return the log level, from -v or else from CLUSTERCTL_LOG_LEVEL."""
    option = persistent().verbosity
    if option is not None:
        return option
    level = settings.variables.get("CLUSTERCTL_LOG_LEVEL") or ""
    return parse_digits(level) or 0
