"""All commands with their flags."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import click


@dataclass(frozen=True)
class Place:
    """A command and the words that call it."""

    path: str
    command: click.Command


def walk(command: click.Command, path: str = "") -> Iterator[Place]:
    """The command and all below it, groups first."""
    yield Place(path, command)
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            result = command.get_command(context, name)
            assert result is not None
            yield from walk(result, f"{path} {name}".strip())
