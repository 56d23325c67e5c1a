"""The root command `kapy`: dispatches to commands and prints their errors."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Sequence
from typing import Final, TypeGuard

import click

from kapy import __version__
from kapy.cli import plugins
from kapy.cli.flags import WithHelp
from kapy.cli.lazy import Lazy
from kapy.cli.output import given_up
from kapy.cli.tree import COMMANDS, root_help


class _Root(Lazy):
    def get_help(self, ctx: click.Context) -> str:  # noqa: ARG002
        return root_help().rstrip("\n")


def _version(context: click.Context, _: click.Parameter, given: bool) -> None:
    if given:
        click.echo(f"kapy {__version__}")
        context.exit()


ROOT = _Root(
    "kapy",
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    commands_at=COMMANDS,
    params=[
        click.Option(
            ["--version"], is_flag=True, expose_value=False, is_eager=True, callback=_version
        )
    ],
)


def run(arguments: Sequence[str]) -> int:
    """Run a command; returns the exit code. Errors are printed as one sentence, never as a
    traceback.

    The traceback of an unexpected error is printed if KAPY_DEBUG is set. An executable
    `clusterctl-NAME` or `kapy-NAME` is a command NAME (upstream's plugins).
    """

    def called() -> object:
        words = _asked_for_help(arguments)
        plugins.run_if_meant(words, COMMANDS)
        return ROOT.main(words, prog_name="kapy", standalone_mode=False)

    return outcome(called)


_WRITABLE: Final = "let this user write there, or use another place"
_PLACE: Final = "another kind of file is needed there: move this one away, or use another place"
_ROOM: Final = "make room, or use another place"
_BROKEN: Final = "see that the disk or the network file system works, or use another place"
_OF_FILES: Final = {
    errno.EACCES: _WRITABLE,
    errno.EPERM: _WRITABLE,
    errno.EROFS: _WRITABLE,
    errno.EEXIST: _PLACE,
    errno.ENOTDIR: _PLACE,
    errno.EISDIR: _PLACE,
    errno.ENOTEMPTY: _PLACE,
    errno.ELOOP: _PLACE,
    errno.ENOENT: "see that the path is right, and that links on it lead somewhere",
    errno.ENAMETOOLONG: "use a shorter path",
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _ROOM,
    errno.EFBIG: _ROOM,
    errno.EIO: _BROKEN,
    errno.ESTALE: _BROKEN,
    errno.ENOLCK: _BROKEN,
    errno.ENXIO: _BROKEN,
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
    errno.ENFILE: "close other programs: the system has no room for open files",
}
"""What to do about what the system refuses: nothing that is to be reported to us."""


def outcome(call: Callable[[], object]) -> int:
    """The exit code of a command; its errors are printed as sentences on standard error."""
    try:
        code = call()
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return 0
    except WithHelp as error:
        click.echo(f"Error: {error.message}\n", err=True)
        click.echo(error.ctx.get_help() if error.ctx else "")
        return 1
    except click.ClickException as error:
        click.echo(f"Error: {error.format_message()}", err=True)
        return 1
    except (click.Abort, KeyboardInterrupt):
        return 130
    except Exception as error:
        if isinstance(error, BrokenPipeError) or _is_of_output(error):
            return given_up(error)
        if os.environ.get("KAPY_DEBUG"):
            raise
        click.echo(f"Error: {sentence(error)}", err=True)
        return 1


def _is_of_output(error: Exception) -> TypeGuard[OSError]:
    """Whether the disk of standard output is full: errors of other files have a file name."""
    return isinstance(error, OSError) and error.errno == errno.ENOSPC and error.filename is None


def _asked_for_help(arguments: Sequence[str]) -> list[str]:
    """Convert `help generate cluster` to `generate cluster --help`."""
    if arguments[:1] == ["help"]:
        return [*arguments[1:], "--help"]
    return list(arguments)


def sentence(error: BaseException) -> str:
    """The user's message of an error."""
    from kapy.kube.errors import KapyError, Unreachable

    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, Unreachable):
        return f"{error}; see that the server runs, and that the kubeconfig names the right one"
    if isinstance(error, KapyError):
        return str(error)
    if isinstance(error, OSError) and error.filename is not None and error.errno in _OF_FILES:
        return f"{error.filename2 or error.filename}: {error.strerror}; {_OF_FILES[error.errno]}"
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"unexpected {what} (KAPY_DEBUG=1 shows where; please report it)"
