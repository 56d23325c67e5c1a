"""A backup of a plane: all of its data on disk, in one file.

The file is a gzipped tar archive. Its first member `manifest.json` lists the others with checksums:
`data/store.db` (a consistent copy, even of a running plane), `data/service-account.key` and `pki/`,
as far as they exist. It contains private keys and Secrets: protect it like those.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Final

import msgspec

from kapy import __version__
from kapy.apiserver.store.copies import FileState, copy_store
from kapy.apps.settings import Folder
from kapy.kube.errors import KapyError

FORMAT: Final = 1
"""The version of the archive's layout."""
MANIFEST: Final = "manifest.json"
STORE: Final = "data/store.db"

_EXCLUDED: Final = ("store.db", "store.mark", "lock")
"""Beginnings of names in `data/`: the store is copied in another way, with a mark of its own when
it is restored; a lock is nothing to keep."""
_COMPRESSION_LEVEL: Final = 1  # a fifth of the size for a tenth of the time


class BackupFailed(KapyError):
    """There is nothing to back up, or the file cannot be written; the message gives the reason."""


class File(msgspec.Struct, frozen=True):
    """Checksum and size (in bytes) of a member of the archive."""

    size: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True, rename="camel"):
    """The manifest of a backup, which is the first member of the archive. kapy: the version of kapy
    that made the backup. taken: the time of the backup, RFC 3339.
    """

    format: int
    kapy: str
    taken: str
    schema: int
    resource_version: str
    objects: int
    files: dict[str, File]


@dataclass(frozen=True, slots=True)
class _Member:
    name: str
    content: bytes | Path

    def checksum(self) -> File:
        with self.open() as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return File(self.size, digest)

    @property
    def size(self) -> int:
        content = self.content
        return len(content) if isinstance(content, bytes) else content.stat().st_size

    def open(self) -> io.BytesIO | io.BufferedReader:
        content = self.content
        return io.BytesIO(content) if isinstance(content, bytes) else content.open("rb")


def back_up(folder: Folder, to: IO[bytes], now: datetime) -> Manifest:
    """Write a backup of the folder's plane, which may be running. Raises BackupFailed,
    StoreError."""
    store = folder.data / "store.db"
    if not store.exists():
        raise BackupFailed(
            f"there is nothing to back up in {folder.path}: no plane ran there, or one that keeps "
            "nothing on disk; choose another --name or --data-dir"
        )
    # Beside the data: as private as these, and with more space than a /tmp in memory.
    with tempfile.TemporaryDirectory(prefix=".backup-", dir=folder.path) as scratch:
        copy = Path(scratch) / "store.db"
        state = copy_store(store, copy)
        members = [_Member(STORE, copy), *_keys_and_certificates(folder)]
        manifest = _manifest(state, members, now)
        _write(to, [_Member(MANIFEST, msgspec.json.encode(manifest)), *members], now)
    return manifest


def back_up_to(folder: Folder, path: Path, now: datetime) -> Manifest:
    """Write a backup to a file that only its owner can read; the file appears when it is
    complete."""
    with _atomic_file(path) as file:
        return back_up(folder, file, now)


def _keys_and_certificates(folder: Folder) -> Iterator[_Member]:
    """The plane's keys and certificates."""
    for directory, name in ((folder.data, "data"), (folder.pki, "pki")):
        if not directory.is_dir():
            continue
        for path in sorted(directory.iterdir()):
            if path.is_file() and not path.name.startswith((".", *_EXCLUDED)):
                yield _Member(f"{name}/{path.name}", path.read_bytes())


def _manifest(state: FileState, members: list[_Member], now: datetime) -> Manifest:
    return Manifest(
        format=FORMAT,
        kapy=__version__,
        taken=now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        schema=state.schema,
        resource_version=str(state.revision),
        objects=state.objects,
        files={member.name: member.checksum() for member in members},
    )


def _write(to: IO[bytes], members: list[_Member], now: datetime) -> None:
    with (
        gzip.GzipFile(
            filename="", mode="wb", compresslevel=_COMPRESSION_LEVEL, fileobj=to
        ) as packed,
        tarfile.open(fileobj=packed, mode="w|") as archive,
    ):
        for member in members:
            info = tarfile.TarInfo(member.name)
            info.size, info.mode, info.mtime = member.size, 0o600, int(now.timestamp())
            with member.open() as file:
                archive.addfile(info, file)


@contextmanager
def _atomic_file(path: Path) -> Iterator[IO[bytes]]:
    beside = path.with_name(f".{path.name}.new")
    try:
        beside.unlink(missing_ok=True)
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise BackupFailed(f"cannot write {path}: {error.strerror}") from None
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        raise BackupFailed(f"cannot write {path}: {error.strerror}") from None
    finally:
        beside.unlink(missing_ok=True)
