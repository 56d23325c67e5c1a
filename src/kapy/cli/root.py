"""The tree of commands, and what becomes of their errors."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import click

from kapy import __version__


class Lazy(click.Group):
    """A group whose commands are modules that are imported when they are called.

    commands_at: `module:attribute` and one line of help, by name.
    """

    def __init__(self, *args: Any, commands_at: Mapping[str, tuple[str, str]], **more: Any) -> None:
        super().__init__(*args, **more)
        self._at = commands_at

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self._at)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in self._at:
            return None
        module, _, attribute = self._at[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in self._at.items()])


ROOT = Lazy(
    "kapy",
    help="Cluster API in Python: a management plane for Kubernetes clusters, with nothing to "
    "install.",
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    commands_at={
        "quickstart": ("kapy.cli.quickstart:quickstart", "Start a plane and a Ready cluster."),
        "up": ("kapy.cli.up:up", "Run a management plane until Ctrl-C."),
        "down": ("kapy.cli.running:down", "Stop a plane that runs in the background."),
        "status": ("kapy.cli.running:status", "Say whether a plane runs, and where."),
        "logs": ("kapy.cli.running:logs", "Print what a plane in the background said."),
        "backup": ("kapy.cli.backup:backup", "Save a plane, also while it runs."),
        "restore": ("kapy.cli.restore:restore", "Put a backup of a plane back."),
        "get": ("kapy.cli.root:GET", "Get info of a workload cluster."),
        "describe": ("kapy.cli.root:DESCRIBE", "Describe workload clusters."),
        "crds": ("kapy.cli.crds:crds", "Print the CRDs of Cluster API's kinds."),
        "version": ("kapy.cli.version:version", "Print the version."),
    },
)
ROOT.params.append(
    click.Option(
        ["--version"],
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=lambda context, _, given: _version(context) if given else None,
        help="Print the version.",
    )
)
GET = Lazy(
    "get",
    help="Get info of a workload cluster.",
    no_args_is_help=True,
    commands_at={
        "kubeconfig": ("kapy.cli.get:kubeconfig", "Print the kubeconfig of a workload cluster.")
    },
)
DESCRIBE = Lazy(
    "describe",
    help="Describe workload clusters.",
    no_args_is_help=True,
    commands_at={
        "cluster": ("kapy.cli.describe:cluster", "Show a cluster's objects and their state.")
    },
)


def _version(context: click.Context) -> None:
    click.echo(f"kapy {__version__}")
    context.exit()


def run(arguments: Sequence[str]) -> int:
    """Run a command; answers the exit code. What goes wrong is one sentence, never a traceback.

    The traceback of an unexpected error is shown where KAPY_DEBUG is set.
    """
    try:
        code = ROOT.main(list(arguments), prog_name="kapy", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return 130
    except BrokenPipeError:
        # The reader of our output is gone: nothing more to say, also not at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except Exception as error:
        if os.environ.get("KAPY_DEBUG"):
            raise
        click.echo(f"Error: {sentence(error)}", err=True)
        return 1


def sentence(error: BaseException) -> str:
    """What an error says to people."""
    from kapy.kube.errors import KapyError

    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, KapyError):
        return str(error)
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"unexpected {what} (KAPY_DEBUG=1 shows where; please report it)"
