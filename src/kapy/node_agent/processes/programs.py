"""The local programs that run in place of containers: a file of the plane's owner.

It is not an API object: a user who may write a Deployment must not thereby run programs as the
plane's user.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from kapy.kube.errors import KapyError
from kapy.kube.foreign_json import BadJson, decode_json

NAME = "programs.json"


class BadPrograms(KapyError):
    """The file of programs cannot be read; the message says why."""


class Program(NamedTuple):
    """A program in place of a Deployment's container. command: the program and its first
    arguments."""

    namespace: str
    deployment: str
    container: str
    command: tuple[str, ...]


class Programs:
    """The programs of one plane; the file is read again when it changes."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._stamp = -1
        self._known: list[Program] = []

    def refresh(self) -> bool:
        """Read the file if it has changed; return whether it has. Raises BadPrograms."""
        stamp = _stamp(self._path)
        if stamp == self._stamp:
            return False
        self._known = list(read(self._path.parent))
        self._stamp = stamp
        return True

    def command(self, namespace: str, deployment: str, container: str) -> tuple[str, ...] | None:
        """Return the command that runs in place of a container, None if there is none."""
        for item in self._known:
            if (item.namespace, item.deployment, item.container) == (
                namespace,
                deployment,
                container,
            ):
                return item.command
        return None


def read(folder: Path) -> Sequence[Program]:
    """Return the programs of a plane. Raises BadPrograms."""
    path = folder / NAME
    try:
        return msgspec.convert(decode_json(path.read_bytes()), list[Program])
    except FileNotFoundError:
        return []
    except (OSError, BadJson, msgspec.ValidationError) as error:
        raise BadPrograms(
            f"{path} cannot be read ({error}); delete it, and run `kapy init --run` again"
        ) from None


def add(folder: Path, programs: Iterable[Program]) -> None:
    """Run programs in place of containers, and replace earlier entries. Raises BadPrograms,
    OSError."""
    fresh = list(programs)
    replaced = {item[:3] for item in fresh}
    replace(folder, [*(item for item in read(folder) if item[:3] not in replaced), *fresh])


def replace(folder: Path, programs: Sequence[Program]) -> None:
    """Write the plane's file of programs with new content. Raises OSError."""
    path = folder / f"{NAME}.new"
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(msgspec.json.encode(programs))
    path.replace(folder / NAME)


def _stamp(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
