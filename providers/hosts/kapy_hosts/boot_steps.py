"""The boot data of a machine as an archive of steps, which a host carries out. Pure."""

from __future__ import annotations

import io
import shlex
import tarfile
from collections.abc import Sequence
from typing import Final, NamedTuple

from kapy.sdk.boot import BootPlan, RunCommand, WriteFile, as_command
from kapy_hosts.remote import script

_SAVE: Final = """\
path={path}
if ! grep -qxF -- "$path" paths 2>/dev/null; then
    if [ -e "$path" ]; then
        mkdir -p "saved${{path%/*}}" && cp -p -- "$path" "saved$path" || exit 1
    fi
    printf '%s\\n' "$path" >> paths
fi
"""
"""Keep the file that was there before: the release restores it."""
MANIFESTS: Final = "/etc/kubernetes/manifests/"


class BootStep(NamedTuple):
    """One step of the boot of a machine. again: whether the step may be run again after a failure or a restart."""

    entry: str
    script: str
    stdin: bytes = b""
    again: bool = False


def boot_steps(plan: BootPlan, before: Sequence[BootStep] = ()) -> list[BootStep]:
    """Convert the steps of boot data. before: steps that run first."""
    return [*before, *map(_step, plan.steps)]


def file_step(path: str, content: str, entry: str, mode: int = 0o644) -> BootStep:
    """Return the step that writes a file."""
    return _step(WriteFile(path, content.encode(), entry, mode=mode))


def _step(step: WriteFile | RunCommand) -> BootStep:
    command = as_command(step)
    save = _SAVE.format(path=shlex.quote(step.path)) if isinstance(step, WriteFile) else ""
    text = f"{save}exec {shlex.join(command.argv)}\n"
    return BootStep(command.entry, text, command.stdin, command.repeatable)


def step_names(steps: Sequence[BootStep]) -> dict[str, str]:
    """Return the entry of each step by its name on the host."""
    return {_name(number): step.entry for number, step in enumerate(steps)}


def archive(steps: Sequence[BootStep]) -> bytes:
    """Return the archive that the host unpacks."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        _add(tar, "runner", script("runner").encode())
        for number, step in enumerate(steps):
            name = f"steps/{_name(number)}"
            _add(tar, f"{name}.sh", step.script.encode())
            if step.stdin:
                _add(tar, f"{name}.in", step.stdin)
            if step.again:
                _add(tar, f"{name}.again", b"")
    return packed.getvalue()


def _name(number: int) -> str:
    return f"{number:05d}"


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(content), 0o600
    tar.addfile(info, io.BytesIO(content))
