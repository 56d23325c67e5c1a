"""Prints the reference of all commands from their definitions (`make reference`)."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from kapy.cli.root import ROOT
from kapy.cli.tree import SECTIONS

_HEADER = """\
# Commands

Printed from the commands themselves (`make reference`); `kapy COMMAND --help` says the same.
[The command line](cli.md) describes their common flags and their use. Every command also takes
`--config FILE` and `-v LEVEL`; a switch takes a value, too (`--flag=false`).
"""

_EVERYWHERE = frozenset(("config", "v", "help"))


def page() -> str:
    """Return all commands by section, each with its usage, arguments and flags, as Markdown."""
    parts = [_HEADER]
    context = click.Context(ROOT, info_name="kapy")
    for title, commands in SECTIONS.items():
        parts.append(f"## {title}\n")
        for name in commands:
            command = ROOT.get_command(context, name)
            assert command is not None
            parts += _command_section(command, name, context)
    return "\n".join(parts)


def _command_section(command: click.Command, name: str, parent: click.Context) -> Iterator[str]:
    context = click.Context(command, info_name=name, parent=parent)
    if isinstance(command, click.Group):
        if command.invoke_without_command:
            yield _description(command, context)
        for inner in command.list_commands(context):
            result = command.get_command(context, inner)
            assert result is not None
            yield from _command_section(result, inner, context)
        return
    yield _description(command, context)


def _description(command: click.Command, context: click.Context) -> str:
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [f"### {context.command_path}", "", f"`{context.command_path} {usage}`", ""]
    lines += [_paragraphs(command.help or ""), ""]
    flags = [_flag(param, context) for param in command.params if _is_visible(param)]
    if flags:
        lines += ["| flag | what |", "|---|---|", *flags, ""]
    return "\n".join(lines)


def _is_visible(parameter: click.Parameter) -> bool:
    return (
        isinstance(parameter, click.Option)
        and parameter.name not in _EVERYWHERE
        and not parameter.hidden
    )


def _flag(parameter: click.Parameter, context: click.Context) -> str:
    assert isinstance(parameter, click.Option)
    record = parameter.get_help_record(context)
    assert record is not None
    names, words = record
    return f"| `{_cell(names)}` | {_cell(words)} |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _paragraphs(text: str) -> str:
    """Return a docstring's paragraphs; lines of examples (after \b) stay as they are."""
    paragraphs = []
    for part in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        if part.startswith("\b"):
            paragraphs.append("```text\n" + part.removeprefix("\b").strip("\n") + "\n```")
        else:
            paragraphs.append(" ".join(part.split()))
    return "\n\n".join(paragraphs)


def main() -> None:
    """Write the page to the given file."""
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
