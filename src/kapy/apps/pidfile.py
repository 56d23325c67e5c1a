"""Which plane runs in a folder: told by a lock that ends with its process, and a file beside it.

The lock says whether a plane runs (a process id alone may be another program's by now); the file
says who and where.
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
from urllib.parse import urlsplit

import msgspec

from kapy.apps.credentials import write_private
from kapy.apps.settings import Folder, UnusableFolder
from kapy.kube.errors import KapyError


class PlaneIsRunning(KapyError):
    """A plane runs in that folder already."""


class UnfinishedRestore(KapyError):
    """A restore into that folder was interrupted."""


class NoPlane(KapyError):
    """No plane runs in that folder."""


@dataclass(frozen=True, slots=True)
class PlaneRecord:
    """A running plane. started: RFC 3339. context: its name in the kubeconfig file. clock: how the
    clock jumped last, "" where it did not."""

    pid: int
    server: str
    context: str
    kubeconfig: str
    started: str
    version: str
    clock: str = ""


@contextmanager
def claim(folder: Folder, *, for_restore: bool = False) -> Iterator[None]:
    """Hold the folder for one plane. Raises PlaneRuns, UnfinishedRestore."""
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
        except OSError as error:  # a network file system
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
            os.write(handle, str(os.getpid()).encode())
        yield
    finally:
        os.close(handle)


def unfinished_restore(folder: Folder) -> Path:
    """What is there while a restore swaps the folder's data."""
    return folder.path / "restore.unfinished"


@contextmanager
def announce(folder: Folder, record: PlaneRecord) -> Iterator[None]:
    """Tell who runs, while the context is open, and afterwards who ran last."""
    write_record(folder, record)
    try:
        yield
    finally:
        with suppress(FileNotFoundError):
            if (
                folder.running_record.is_file() and not folder.last_record.is_dir()
            ):  # else somebody damaged them
                os.utime(folder.running_record)  # when it ended
                folder.running_record.replace(folder.last_record)


def write_record(folder: Folder, record: PlaneRecord) -> None:
    """Write down who runs."""
    write_private(folder.running_record, json.dumps(asdict(record), indent=2).encode())


def running_plane(folder: Folder) -> PlaneRecord | None:
    """The plane that runs in the folder and is ready, or None."""
    return _read(folder.running_record) if is_claimed(folder) else None  # starting, or ending


def last_plane(folder: Folder) -> PlaneRecord | None:
    """The plane that ran in the folder last, or None where nobody knows."""
    return _read(folder.running_record) or _read(
        folder.last_record
    )  # one that was killed has left its state


def _read(path: Path) -> PlaneRecord | None:
    """The Presence that a file holds, or None: what is damaged tells nothing."""
    try:
        found = msgspec.json.decode(path.read_bytes(), type=PlaneRecord)
        urlsplit(found.server).port  # noqa: B018  # raises for what is no address
    except (OSError, ValueError, RecursionError):
        return None
    return found if _is_process_id(found.pid) and "\0" not in found.kubeconfig else None


def _is_process_id(pid: int) -> bool:
    """Whether a number can be of one process; the others mean groups, or everybody's."""
    return 0 < pid < 1 << 31


def is_claimed(folder: Folder) -> bool:
    """Whether a process holds the folder, ready or not."""
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
    """Send SIGTERM to the plane of the folder, also while it starts; answers its process.

    Raises NoPlane.
    """
    record = running_plane(folder)
    pid = _holder(folder) if record is None else record.pid
    if pid is None:
        raise NoPlane(f"no management plane runs in {folder.path}")
    with suppress(ProcessLookupError):  # it has ended meanwhile
        os.kill(pid, signal.SIGTERM)
    return pid


def _holder(folder: Folder) -> int | None:
    """The process that holds the folder for a plane, ready or not."""
    if not is_claimed(folder):
        return None
    try:
        pid = int(_lock(folder).read_text())
    except (OSError, ValueError):
        return None  # a restore
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
