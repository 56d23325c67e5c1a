"""Commands and flags with upstream's syntax (cobra, pflag).

    @command()
    @strings("-i", "--infrastructure", help="Infrastructure providers.")
    @click.option("--wait-providers", is_flag=True)
    def init(infrastructure: tuple[str, ...], wait_providers: bool) -> None: ...

Every command accepts `--config` and `-v`, in any position; `persistent()` returns their values. A
switch may have a value, too: `--grouping=false`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NoReturn, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

_CONFIG: Final = "kapy.cli.config"
_VERBOSITY: Final = "kapy.cli.verbosity"
_ORIGINAL_ARGUMENTS: Final = "kapy.cli.typed"


@dataclass(frozen=True, slots=True)
class Persistent:
    """The values of the flags that every command has.

    config: path or URL of the configuration file, "" for the default location. verbosity: None if
    it was not given (then CLUSTERCTL_LOG_LEVEL counts).
    """

    config: str = ""
    verbosity: int | None = None


def persistent() -> Persistent:
    """Return the values of the persistent flags."""
    meta = click.get_current_context().meta
    return Persistent(meta.get(_CONFIG, ""), meta.get(_VERBOSITY))


def original_arguments() -> Sequence[str]:
    """Return the original arguments of the called command."""
    arguments: Sequence[str] = click.get_current_context().meta[_ORIGINAL_ARGUMENTS]
    return arguments


class WithHelp(click.UsageError):
    """A usage error that is followed by the command's help."""


class Command(click.Command):
    """A command with upstream's persistent flags.

    missing: the error for a wrong number of arguments, such as `please specify a cluster name`.
    """

    def __init__(self, *args: Any, missing: str = "", **more: Any) -> None:
        super().__init__(*args, **more)
        self._missing = missing
        self.params.extend(persistent_flags(self.params))

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters; with their completions if a shell asks for values."""
        params = super().get_params(ctx)
        if ctx.resilient_parsing:
            from kapy.cli.completers import add_completion

            add_completion(params)
        return params

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_ORIGINAL_ARGUMENTS] = tuple(args)
        try:
            return super().parse_args(ctx, self._normalize_arguments(ctx, args))
        except click.MissingParameter as error:
            if self._missing and isinstance(error.param, click.Argument):
                raise WithHelp(self._missing, ctx) from None
            raise
        except click.NoSuchOption as error:
            refuse_unknown(error, args)
        except click.UsageError as error:
            if self._missing and "extra argument" in error.message:
                raise WithHelp(self._missing, ctx) from None
            raise

    def _normalize_arguments(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Normalize arguments for click: without values of switches, and without the `=` of
        `-n=herd`.

        Arguments after `--` are not changed.
        """
        end = args.index("--") if "--" in args else len(args)
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        switches = {
            name: option
            for option in options
            if option.is_flag and not option.count
            for name in option.opts
        }
        short = {
            name
            for option in options
            if not option.is_flag and not option.count
            for name in option.opts
            if not name.startswith("--")
        }
        plain = [
            plain_argument
            for arg in args[:end]
            for plain_argument in _normalize_argument(arg, switches, short)
        ]
        return [*plain, *args[end:]]


def command(name: str | None = None, **more: Any) -> Callable[[Callable[..., Any]], Command]:
    """Like click.command, for a Command."""
    return click.command(name, cls=Command, **more)


def _normalize_argument(
    argument: str, switches: Mapping[str, click.Option], short: Collection[str]
) -> list[str]:
    name, equals, value = argument.partition("=")
    if equals and name in short:
        return [name, value]
    if not equals or name not in switches:
        return [argument]
    if value.lower() not in _BOOLEANS:
        raise click.UsageError(f'invalid argument "{value}" for "{name}" flag: say true or false')
    if _BOOLEANS[value.lower()]:
        return [name]
    # A flag that is off by default has no opposite.
    return list(switches[name].secondary_opts[:1])


_BOOLEANS: Final = {
    "1": True, "t": True, "true": True, "0": False, "f": False, "false": False,
}  # fmt: skip


def refuse_unknown(error: click.NoSuchOption, args: list[str]) -> NoReturn:
    """Raises UsageError with upstream's message and the nearest flag."""
    name = error.option_name
    if name.startswith("--"):
        text = f"unknown flag: {name}"
    else:
        where = next((arg for arg in args if arg.startswith(name)), name)
        text = f"unknown shorthand flag: '{name[1:]}' in {where}"
    nearest = f" (is {error.possibilities[0]} meant?)" if error.possibilities else ""
    raise click.UsageError(text + nearest, error.ctx) from None


def strings(*names: str, help: str) -> Callable[[F], F]:
    """Return a flag with multiple values, repeated or comma-separated."""

    def split(_: object, __: object, values: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(part for item in values for part in item.split(",") if part)

    return click.option(*names, multiple=True, callback=split, metavar="strings", help=help)


def persistent_flags(parameters: list[click.Parameter]) -> list[click.Parameter]:
    """`--config` and `-v`; no `-v` if the command defines its own."""
    names = {
        name for parameter in parameters for name in (*parameter.opts, *parameter.secondary_opts)
    }
    return [flag for flag in _flags() if not names.intersection(flag.opts)]


def _flags() -> list[click.Option]:
    return [
        click.Option(
            ["--config"],
            expose_value=False,
            callback=partial(_store, _CONFIG),
            help="Configuration file or its URL; usually cluster-api/clusterctl.yaml below "
            "$XDG_CONFIG_HOME.",
        ),
        click.Option(
            ["-v", "--v"],
            type=_Verbosity(),
            expose_value=False,
            callback=partial(_store, _VERBOSITY),
            help="Log level; it overrides CLUSTERCTL_LOG_LEVEL.",
        ),
    ]


def _store(name: str, ctx: click.Context, _: click.Parameter, value: Any) -> None:
    if value is not None:
        ctx.meta[name] = value


class _Verbosity(click.ParamType[int]):
    name = "int"

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,  # noqa: ARG002
        ctx: click.Context | None,
    ) -> int:
        try:
            return int(value)
        except ValueError:
            raise click.UsageError(
                f'invalid argument "{value}" for "-v, --v" flag: a whole number is expected', ctx
            ) from None
