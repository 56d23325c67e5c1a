"""The planes of this user: listing and deleting them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

from kapy.apps.context import forget_context
from kapy.apps.pidfile import NoPlane, PlaneRecord, claim, is_claimed, last_plane, running_plane
from kapy.apps.settings import Folder
from kapy.kube.errors import KapyError

State = Literal["running", "starting", "stopped", "unreadable"]


@dataclass(frozen=True, slots=True)
class PlaneState:
    """A plane that has a folder, and its state.

    name: the value of `--name`. since: the time when the plane started or stopped, RFC 3339; "" if
    unknown. version: the version of the program that runs or ran it. server: the URL of its API
    server, "" if it does not run.
    """

    name: str
    folder: Folder
    state: State
    since: str = ""
    version: str = ""
    server: str = ""


def planes_in(base: Path) -> Iterator[PlaneState]:
    """Yield the planes with folders in a base folder, by name. Unreadable planes raise no error."""
    paths: list[Path] = []
    with suppress(OSError):
        paths = sorted(base.iterdir())
    for path in paths:
        folder = Folder(path)
        try:
            if is_plane(folder):
                yield plane_state(folder)
        except (OSError, KapyError):
            yield PlaneState(path.name, folder, "unreadable")


def is_plane(folder: Folder) -> bool:
    """Return whether a plane was ever started in a folder: some of its files may be lost or
    damaged.
    """
    return any(
        os.path.lexists(path) for path in (_lock(folder), folder.last_record, folder.running_record)
    ) or ((folder.data / "store.db").is_file())


def _lock(folder: Folder) -> Path:
    return folder.path / "plane.lock"


def plane_state(folder: Folder) -> PlaneState:
    """Return the state of the plane of a folder. Raises UnusableFolder."""
    name, record = folder.path.name, running_plane(folder)
    if record is not None:
        return PlaneState(name, folder, "running", record.started, record.version, record.server)
    if is_claimed(folder):
        return PlaneState(name, folder, "starting")
    last = last_plane(folder)
    version = "" if last is None else last.version
    return PlaneState(name, folder, "stopped", _end_time(folder), version)


def _end_time(folder: Folder) -> str:
    try:
        seconds = folder.last_record.stat().st_mtime
    except OSError:
        return ""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


OWN_FILES: Final = (
    "data",
    "data.replaced",
    "pki",
    "pki.replaced",
    "extensions",
    "node",
    "programs.json",
    "host-access.json",
    "plane.log",
    "plane.log.1",
    "plane.json",
    "plane.last.json",
    "plane.lock",
)
"""The files of a plane in its folder; the lock is removed last."""


def size_of(folder: Folder) -> int:
    """Return the bytes that a plane uses on disk."""
    total = 0
    for own in OWN_FILES:
        path = folder.path / own
        for item in (path, *path.rglob("*")) if path.is_dir() else (path,):
            with suppress(OSError):
                total += item.lstat().st_size
    return total


def delete_plane(folder: Folder) -> list[str]:
    """Delete a plane that does not run, and its kubeconfig context if it was not removed.

    Returns the names of foreign files in the folder; these files and the folder stay. Raises
    NoPlane, PlaneIsRunning, OSError.
    """
    if not is_plane(folder):
        raise NoPlane(f"there is no management plane in {folder.path}")
    if not _lock(folder).is_file():  # without a lock file no plane runs
        _remove(_lock(folder))
    with claim(folder, for_restore=True):
        stale = _stale_record(folder)
        if stale is not None:
            forget_context(Path(stale.kubeconfig), stale.context, stale.server)
        for name in OWN_FILES:
            _remove(folder.path / name)
    rest = sorted(os.listdir(folder.path))
    if not rest:
        folder.path.rmdir()
    return rest


def _stale_record(folder: Folder) -> PlaneRecord | None:
    """Return the record of a plane that was killed: its record and its kubeconfig context still
    exist.
    """
    return last_plane(folder) if folder.running_record.exists() else None


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
