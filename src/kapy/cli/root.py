"""The root command `kapy`: dispatches to commands and prints their errors.

A command NAME can also be a plugin: an executable `clusterctl-NAME` or `kapy-NAME` on the PATH. A
name of several words is one executable with dashes; dashes within a word become underscores in the
executable's name. Upstream: the clusterctl book, "Plugins".
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Container, Sequence
from typing import Final, TypeGuard

import click

from kapy import __version__
from kapy.cli.flags import WithHelp
from kapy.cli.lazy import LazyGroup
from kapy.cli.output import write_failure_code
from kapy.cli.tree import COMMANDS, root_help

_PREFIXES: Final = ("kapy", "clusterctl")


class _Root(LazyGroup):
    def get_help(self, ctx: click.Context) -> str:  # noqa: ARG002
        return root_help().rstrip("\n")


def _version(context: click.Context, _: click.Parameter, requested: bool) -> None:
    if requested:
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
        words = _convert_help_command(arguments)
        _run_plugin(words, COMMANDS)
        return ROOT.main(words, prog_name="kapy", standalone_mode=False)

    return exit_code(called)


def exit_code(call: Callable[[], object]) -> int:
    """Return the exit code of a command; its errors are printed as sentences on standard error."""
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
        if isinstance(error, BrokenPipeError) or _is_output_error(error):
            return write_failure_code(error)
        if os.environ.get("KAPY_DEBUG"):
            raise
        click.echo(f"Error: {error_message(error)}", err=True)
        return 1


def _is_output_error(error: Exception) -> TypeGuard[OSError]:
    """Return whether the disk of standard output is full: errors of other files have a file
    name.
    """
    return isinstance(error, OSError) and error.errno == errno.ENOSPC and error.filename is None


def _convert_help_command(arguments: Sequence[str]) -> list[str]:
    """Convert `help generate cluster` to `generate cluster --help`."""
    if arguments[:1] == ["help"]:
        return [*arguments[1:], "--help"]
    return list(arguments)


_PERMISSION_HINT: Final = "let this user write there, or use another place"
_PATH_HINT: Final = "another kind of file is needed there: move this one away, or use another place"
_SPACE_HINT: Final = "make room, or use another place"
_DEVICE_HINT: Final = "see that the disk or the network file system works, or use another place"
_HINTS_BY_ERRNO: Final = {
    errno.EACCES: _PERMISSION_HINT,
    errno.EPERM: _PERMISSION_HINT,
    errno.EROFS: _PERMISSION_HINT,
    errno.EEXIST: _PATH_HINT,
    errno.ENOTDIR: _PATH_HINT,
    errno.EISDIR: _PATH_HINT,
    errno.ENOTEMPTY: _PATH_HINT,
    errno.ELOOP: _PATH_HINT,
    errno.ENOENT: "see that the path is right, and that links on it lead somewhere",
    errno.ENAMETOOLONG: "use a shorter path",
    errno.ENOSPC: _SPACE_HINT,
    errno.EDQUOT: _SPACE_HINT,
    errno.EFBIG: _SPACE_HINT,
    errno.EIO: _DEVICE_HINT,
    errno.ESTALE: _DEVICE_HINT,
    errno.ENOLCK: _DEVICE_HINT,
    errno.ENXIO: _DEVICE_HINT,
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
    errno.ENFILE: "close other programs: the system has no room for open files",
}
"""Advice for errors of the operating system that the user can mend; they are no defects of kapy."""


def error_message(error: BaseException) -> str:
    """Return the user's message of an error."""
    from kapy.kube.errors import KapyError, Unreachable

    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, Unreachable):
        return f"{error}; see that the server runs, and that the kubeconfig names the right one"
    if isinstance(error, KapyError):
        return str(error)
    if isinstance(error, OSError) and error.filename is not None and error.errno in _HINTS_BY_ERRNO:
        return (
            f"{error.filename2 or error.filename}: {error.strerror}; {_HINTS_BY_ERRNO[error.errno]}"
        )
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"unexpected {what} (KAPY_DEBUG=1 shows where; please report it)"


def _run_plugin(arguments: Sequence[str], own: Container[str]) -> None:
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
        for prefix in _PREFIXES:
            path = which("-".join((prefix, *words[:count])))
            if path is not None:
                return path, count
    return None
