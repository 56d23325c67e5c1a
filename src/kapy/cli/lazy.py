"""Command groups that import the module of a command when it is called."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NoReturn

import click

from kapy.cli.flags import persistent_flags, refuse_unknown
from kapy.cli.tree import Commands


class LazyGroup(click.Group):
    """A group of commands.

    commands_at: `module:attribute` and one line of help, by name. Without a command, or with an
    unknown one, a group prints its help, as in upstream.
    """

    def __init__(self, *args: Any, commands_at: Commands, **more: Any) -> None:
        super().__init__(*args, **more)
        self._at = commands_at
        self.params.extend(persistent_flags(self.params))

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters; with their completions if a shell asks for values."""
        params = super().get_params(ctx)
        if ctx.resilient_parsing:
            from kapy.cli.completers import add_completion

            add_completion(params)
        return params

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            refuse_unknown(error, args)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self._at)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in self._at:
            return None
        module, _, attribute = self._at[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self._at and not args[0].startswith("-"):
            self._refuse(ctx, args)
        return super().resolve_command(ctx, args)

    def _refuse(self, ctx: click.Context, args: list[str]) -> NoReturn:
        """Refuse an unknown command as upstream does: the root reports an error, a group prints its
        help."""
        if ctx.parent is None:
            raise click.UsageError(
                f'unknown command "{args[0]}" for "kapy"{self._help_hint(args[0])}'
            )
        parser = self.make_parser(ctx)
        parser.allow_interspersed_args = True
        try:
            parser.parse_args(args[1:])
        except click.NoSuchOption as error:
            refuse_unknown(error, args)
        click.echo(ctx.get_help())
        ctx.exit()

    def _help_hint(self, name: str) -> str:
        from difflib import get_close_matches

        matches = get_close_matches(name, self._at)
        return f" (is {matches[0]} meant?)" if matches else "; `kapy --help` lists the commands"

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in self._at.items()])
