"""Steps that prepare a machine: files to write and commands to run, in order."""

from __future__ import annotations

import base64
import posixpath
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kapy.kube.errors import KapyError

STARTED: Final = "/run/cluster-api/capd.bootstrap.started"
"""The file that a machine in a container has from the moment when kubeadm was started in it."""

SUCCEEDED: Final = "/run/cluster-api/bootstrap-success.complete"
"""The file that a machine has when kubeadm has succeeded (Cluster API's contract)."""


class BadBootData(KapyError):
    """Boot data that cannot be turned into steps. The message names the entry."""


@dataclass(frozen=True, slots=True)
class WriteFile:
    """A step that writes a file, and creates its folder when that is missing.

    mode: the permission bits, which are set in any case. owner: `USER` or `USER:GROUP`, by name or
    ID; without a group, that of the file stays. entry: the position of the step in the boot data,
    for messages.
    """

    path: str
    content: bytes
    entry: str
    mode: int = 0o644
    owner: str = "root:root"
    append: bool = False


@dataclass(frozen=True, slots=True)
class RunCommand:
    """A step that runs a program without a terminal and waits for its end; exit code 0 is success.

    stdin: the standard input of the program. repeatable: whether it may be run again after a
    failure. diagnosis: a command that prints the reason of a failure which the program's own output
    does not show.
    """

    argv: tuple[str, ...]
    entry: str
    stdin: bytes = b""
    repeatable: bool = False
    diagnosis: tuple[str, ...] = ()


Step = WriteFile | RunCommand


@dataclass(frozen=True, slots=True)
class BootPlan:
    """The steps that boot data consists of. ignored: the names of the sections that are not
    applied.
    """

    steps: tuple[Step, ...]
    ignored: tuple[str, ...] = ()


_WRITE: Final = (
    'mkdir -p -- "$1" && (umask 077 && cat {redirect} "$2") && chown -- "$3" "$2" &&'
    ' chmod -- "$4" "$2"'
)


def as_command(step: Step) -> RunCommand:
    """Return the step as one command, for machines to which files cannot be copied.

    The machine needs a POSIX shell, `cat`, `mkdir`, `chown` and `chmod`.
    """
    if isinstance(step, RunCommand):
        return step
    script = _WRITE.format(redirect=">>" if step.append else ">")
    folder = posixpath.dirname(step.path)
    argv = ("/bin/sh", "-c", script, "sh", folder, step.path, step.owner, f"{step.mode:04o}")
    return RunCommand(argv, step.entry, stdin=step.content, repeatable=not step.append)


def as_commands(steps: Sequence[Step]) -> list[RunCommand]:
    """Return the steps as commands; consecutive files are written by one command.

    Starting a command in a machine often costs more than the command itself. The machine also needs
    `base64`. A failing command prints the entry of the file that failed.
    """
    commands: list[RunCommand] = []
    files: list[WriteFile] = []
    for step in steps:
        if isinstance(step, WriteFile):
            files.append(step)
            continue
        commands += _write_together(files)
        files = []
        commands.append(step)
    return commands + _write_together(files)


def _write_together(files: list[WriteFile]) -> list[RunCommand]:
    if len(files) < _MIN_JOINED_FILES:
        return [as_command(file) for file in files]
    script = "".join((_FUNCTION, *map(_call, files)))
    return [
        RunCommand(
            ("/bin/sh", "-s"),
            f"{files[0].entry} to {files[-1].entry}",
            stdin=script.encode(),
            repeatable=not any(file.append for file in files),
        )
    ]


_MIN_JOINED_FILES: Final = 2
_FUNCTION: Final = (
    'write() { mkdir -p -- "$1" && (umask 077; if [ "$5" ]; then base64 -d >> "$2";'
    ' else base64 -d > "$2"; fi) && chown -- "$3" "$2" && chmod -- "$4" "$2"; }\n'
)


def _call(file: WriteFile) -> str:
    folder = posixpath.dirname(file.path)
    words = (folder, file.path, file.owner, f"{file.mode:04o}", "append" if file.append else "")
    content = base64.encodebytes(file.content).decode()
    failed = f"echo {shlex.quote(file.entry)}: the file could not be written >&2; exit 1"
    return f"write {shlex.join(words)} <<'EOF' || {{ {failed}; }}\n{content}EOF\n"


def shell(script: str, entry: str) -> RunCommand:
    """Return a step that runs a POSIX shell script."""
    return RunCommand(("/bin/sh", "-c", script), entry)
