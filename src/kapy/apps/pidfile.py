"""The lock and the record of the plane that runs in a folder.

The lock shows whether a plane runs; it ends with its process. (A process id alone may belong to
another program by now.) The record, a file beside it, describes the plane: process, server and
context.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from kapy.apps.credentials import write_private
from kapy.apps.settings import Folder, UnusableFolder
from kapy.kube.errors import KapyError


class PlaneIsRunning(KapyError):
    """A plane already runs in that folder."""


class UnfinishedRestore(KapyError):
    """A restore into that folder was interrupted."""


class NoPlane(KapyError):
    """No plane runs in that folder."""


@dataclass(frozen=True, slots=True)
class WorkerRecord:
    """A worker process of a plane. pid: 0 while it does not run. state: `waiting` until the plane
    has enough clusters. restarts: how often it has died.
    """

    name: str
    pid: int = 0
    state: Literal["waiting", "starting", "running", "stopped"] = "waiting"
    restarts: int = 0


@dataclass(frozen=True, slots=True)
class PlaneRecord:
    """The record of a running plane. started: the time of the start, RFC 3339. context: the name of
    its context in the kubeconfig file. clock: the last jump of the clock, "" for none. workers: the
    plane's other processes.
    """

    pid: int
    server: str
    context: str
    kubeconfig: str
    started: str
    version: str
    clock: str = ""
    workers: tuple[WorkerRecord, ...] = ()


@contextmanager
def claim(folder: Folder, *, for_restore: bool = False) -> Iterator[None]:
    """Hold the folder's lock for one plane while the context is open. Raises PlaneIsRunning,
    UnfinishedRestore.
    """
    folder.make()
    handle = _open(folder)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PlaneIsRunning(
                f"a management plane runs in {folder.path} already; stop it with `kapy down`, or "
                "choose another --name or --data-dir"
            ) from None
        except OSError as error:  # for example a network file system
            raise UnusableFolder(
                f"cannot lock {_lock(folder)}: {error.strerror}; use a folder on a local file "
                "system"
            ) from None
        if unfinished_restore(folder).exists() and not for_restore:
            raise UnfinishedRestore(
                f"a restore into {folder.path} was interrupted, its data may be of two planes; "
                "run `kapy restore --force` again"
            )
        os.ftruncate(handle, 0)
        if not for_restore:
            _retire_record(folder)
            os.write(handle, str(os.getpid()).encode())
        yield
    finally:
        os.close(handle)


def unfinished_restore(folder: Folder) -> Path:
    """Return the marker file that exists while a restore swaps the folder's data."""
    return folder.path / "restore.unfinished"


@contextmanager
def announce(folder: Folder, record: PlaneRecord) -> Iterator[None]:
    """Write the record of the running plane while the context is open; afterwards, keep it as the
    record of the last plane.
    """
    write_record(folder, record)
    try:
        yield
    finally:
        with suppress(OSError):  # a user may have removed or damaged it
            os.utime(folder.running_record)  # the modification time records the end
            _retire_record(folder)


def _retire_record(folder: Folder) -> None:
    """Turn the record of the running plane into that of the last one. A plane that was killed
    leaves its record behind, and must not be taken for the one that starts.
    """
    with suppress(FileNotFoundError):
        if (
            folder.running_record.is_file() and not folder.last_record.is_dir()
        ):  # otherwise the record is damaged
            folder.running_record.replace(folder.last_record)


def write_record(folder: Folder, record: PlaneRecord) -> None:
    """Write the record of the running plane."""
    write_private(folder.running_record, json.dumps(asdict(record), indent=2).encode())


def running_plane(folder: Folder) -> PlaneRecord | None:
    """Return the plane that runs in the folder and is ready, else None."""
    return _read(folder.running_record) if is_claimed(folder) else None  # else starting or ending


def last_plane(folder: Folder) -> PlaneRecord | None:
    """Return the plane that ran in the folder last, None if unknown."""
    return _read(folder.running_record) or _read(
        folder.last_record
    )  # a killed plane has left its record


def _read(path: Path) -> PlaneRecord | None:
    """Read a record; a damaged one counts as None."""
    try:
        plane_record = msgspec.json.decode(path.read_bytes(), type=PlaneRecord)
        urlsplit(plane_record.server).port  # noqa: B018  # raises for what is no address
    except (OSError, ValueError, RecursionError):
        return None
    return (
        plane_record
        if _is_process_id(plane_record.pid) and "\0" not in plane_record.kubeconfig
        else None
    )


def _is_process_id(pid: int) -> bool:
    """Return whether a number can be the id of one process; other numbers mean process groups or
    all processes.
    """
    return 0 < pid < 1 << 31


def is_claimed(folder: Folder) -> bool:
    """Return whether a process holds the folder's lock, ready or not."""
    if not _lock(folder).is_file():
        return False
    handle = _open(folder)
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def terminate(folder: Folder) -> int:
    """Send SIGTERM to the plane of the folder, also while it starts; returns its process id. Raises
    NoPlane.
    """
    record = running_plane(folder)
    pid = _holder(folder) if record is None else record.pid
    if pid is None:
        raise NoPlane(f"no management plane runs in {folder.path}")
    with suppress(ProcessLookupError):  # it has ended in between
        os.kill(pid, signal.SIGTERM)
    return pid


def _holder(folder: Folder) -> int | None:
    """Return the process id that holds the folder's lock, ready or not."""
    if not is_claimed(folder):
        return None
    try:
        pid = int(_lock(folder).read_text())
    except (OSError, ValueError):
        return None  # held by a restore
    return pid if _is_process_id(pid) else None


def _lock(folder: Folder) -> Path:
    return folder.path / "plane.lock"


def _open(folder: Folder) -> int:
    try:
        return os.open(_lock(folder), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        is_other = error.errno in (errno.EISDIR, errno.ELOOP, errno.ENXIO, errno.ENOENT)
        remedy = "move it away" if is_other else "let this user read and write it"
        raise UnusableFolder(
            f"cannot open {_lock(folder)}: {error.strerror}; {remedy}, or choose another "
            "--data-dir or --name"
        ) from None
