"""The runtime extension options of `kapy up`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click

from kapy.api.features import FeatureGates
from kapy.apps.extension_server.configured_extensions import (
    BadExtension,
    ConfiguredExtension,
    parse_extension,
)
from kapy.apps.settings import EMBEDDED_GATES

F = TypeVar("F", bound=Callable[..., Any])


def extension_options(command: F) -> F:
    """The options, in the order of `--help`."""
    for option in (
        click.option(
            "--extension-ca",
            type=click.Path(path_type=Path, exists=True, dir_okay=False),
            help="PEM file of whom to trust at the URLs of --extension.",
        ),
        click.option(
            "--extension",
            "extensions",
            multiple=True,
            metavar="[NAME=]URL|MODULE[:ATTRIBUTE]",
            help="Runtime extension to ask: one that runs, or a Python module that is started in "
            "a process of its own; may be repeated. Opens the feature gate RuntimeSDK.",
        ),
    ):
        command = option(command)
    return command


def extensions_of(values: Mapping[str, Any]) -> Sequence[ConfiguredExtension]:
    """The configured extensions. Raises click.UsageError."""
    ca = values["extension_ca"]
    try:
        extensions = [
            parse_extension(extension, ca.read_bytes() if ca else b"")
            for extension in values["extensions"]
        ]
    except BadExtension as error:
        raise click.UsageError(f"--extension: {error}") from None
    names = [extension.name for extension in extensions]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise click.UsageError(
            f"--extension: {twice[0]} is the name of two extensions; name one of them: NAME=…"
        )
    return extensions


def gates_for(values: Mapping[str, Any]) -> FeatureGates:
    """The default feature gates, with RuntimeSDK enabled if there are extensions."""
    return replace(EMBEDDED_GATES, runtime_sdk=bool(values["extensions"]))
