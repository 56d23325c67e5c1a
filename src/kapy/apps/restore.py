"""Restores a backup: it is verified first, then swapped in; resource versions never decrease.

The previous data are kept as `data.replaced` and `pki.replaced`. While the folders are swapped, a
folder `restore.unfinished` exists, and no plane starts.
"""

from __future__ import annotations

import hashlib
import lzma
import os
import re
import shutil
import tarfile
import zlib
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import IO, Final

import msgspec

from kapy._aio.plain_tar import PlainInfo
from kapy.apiserver.store.copies import FileState, renumber_store, verify_store
from kapy.apiserver.store.errors import StoreError
from kapy.apiserver.store.lock import hold_lock
from kapy.apiserver.store.mark import read_mark
from kapy.apps.backup import FORMAT, MANIFEST, STORE, File, Manifest
from kapy.apps.pidfile import claim, unfinished_restore
from kapy.apps.settings import Folder
from kapy.kube.errors import KapyError
from kapy.kube.foreign_json import decode_json

_NAMES: Final = re.compile(r"(data|pki)/[A-Za-z0-9_][A-Za-z0-9_.-]*")
_MANIFEST_LIMIT: Final = 2**20
_CHUNK: Final = 2**20
_DAMAGED_BACKUP: Final = "{} in the backup is not as it was written: damaged"


class UnusableBackup(KapyError):
    """The file is not a backup, or is damaged; the message gives the reason."""


class HasData(KapyError):
    """The folder already contains a plane's data."""


def restore(
    folder: Folder, source: IO[bytes], *, force: bool = False
) -> tuple[Manifest, FileState]:
    """Restore a backup into a plane's folder; return the backup's manifest and the state of the
    data.

    Nothing is changed before the whole backup is verified. force: replace existing data. Raises
    PlaneIsRunning, HasData, UnusableBackup, StoreError.
    """
    with claim(folder, for_restore=True):
        if not force and (folder.data.exists() or unfinished_restore(folder).exists()):
            raise HasData(
                f"{folder.path} holds the data of a plane; --force replaces them (they are kept "
                "as data.replaced), or choose another --name or --data-dir"
            )
        with hold_lock(folder.data) if folder.data.exists() else nullcontext():
            incoming = _empty_folder(folder.path / ".restoring")
            try:
                manifest = _unpack(source, incoming)
                state = renumber_store(incoming / STORE, _last_revision(folder))
                _swap(folder, incoming)
            finally:
                shutil.rmtree(incoming, ignore_errors=True)
    return manifest, state


def _empty_folder(path: Path) -> Path:
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(mode=0o700)
    return path


def _last_revision(folder: Folder) -> int:
    """Return the last known resource version of the folder's plane."""
    store, mark = folder.data / "store.db", read_mark(folder.data)
    marked = 0 if mark is None else mark.revision
    if store.exists():
        with suppress(StoreError):  # damaged data may be the reason for the restore
            return max(verify_store(store).revision, marked)
    return marked


def _unpack(source: IO[bytes], to: Path) -> Manifest:
    """Write the verified members below `to`. Raises UnusableBackup."""
    try:
        with tarfile.open(fileobj=source, mode="r|*", tarinfo=PlainInfo) as archive:
            manifest = _manifest(archive)
            _check_room(manifest, to)
            missing = dict(manifest.files)
            while (member := archive.next()) is not None:
                proof = missing.pop(member.name, None)
                if proof is None or not member.isreg() or member.issparse():
                    raise UnusableBackup(f"the backup holds {member.name!r}, which does not belong")
                if member.size != proof.size:
                    raise UnusableBackup(_DAMAGED_BACKUP.format(member.name))
                content = archive.extractfile(member)
                assert content is not None
                _write(to / member.name, content, proof)
    except (tarfile.TarError, EOFError, OSError, ValueError, OverflowError) as error:
        raise UnusableBackup(f"the backup cannot be read ({error})") from None
    except (zlib.error, lzma.LZMAError) as error:
        raise UnusableBackup(f"the backup cannot be decompressed ({error})") from None
    if missing:
        raise UnusableBackup(f"the backup is not complete: {', '.join(missing)} is missing")
    return manifest


def _check_room(manifest: Manifest, to: Path) -> None:
    """Check that the disk has enough space. Raises UnusableBackup."""
    needed, free = sum(file.size for file in manifest.files.values()), shutil.disk_usage(to).free
    if needed > free:
        raise UnusableBackup(
            f"the backup says that it holds {needed} bytes, and {to.parent} has room for {free}"
        )


def _manifest(archive: tarfile.TarFile) -> Manifest:
    first = archive.next()
    if first is None or not first.isreg() or first.issparse():
        raise UnusableBackup(f"this is no backup of kapy: it does not begin with {MANIFEST}")
    if first.name != MANIFEST or first.size > _MANIFEST_LIMIT:
        raise UnusableBackup(f"this is no backup of kapy: it does not begin with {MANIFEST}")
    content = archive.extractfile(first)
    assert content is not None
    raw = content.read()
    try:
        result = decode_json(raw)["format"]
        if result != FORMAT:
            raise UnusableBackup(
                f"the backup has format {result}, this version of kapy knows {FORMAT}; "
                "restore it with the version that took it, or a later one"
            )
        manifest = msgspec.json.decode(raw, type=Manifest)
    except (ValueError, KeyError, TypeError) as error:
        raise UnusableBackup(f"the manifest of the backup cannot be read ({error})") from None
    if STORE not in manifest.files or not all(map(_NAMES.fullmatch, manifest.files)):
        raise UnusableBackup("the manifest of the backup names files that do not belong in one")
    return manifest


def _write(path: Path, content: IO[bytes], proof: File) -> None:
    path.parent.mkdir(mode=0o700, exist_ok=True)
    digest, size = hashlib.sha256(), 0
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        while chunk := content.read(_CHUNK):
            digest.update(chunk)
            size += len(chunk)
            file.write(chunk)
        file.flush()
        os.fsync(file.fileno())
    if (size, digest.hexdigest()) != (proof.size, proof.sha256):
        raise UnusableBackup(_DAMAGED_BACKUP.format(path.name))


def _swap(folder: Folder, incoming: Path) -> None:
    """Move the new data to their places. Data that the backup does not contain stay."""
    marker = unfinished_restore(folder)
    shutil.rmtree(marker, ignore_errors=True)
    incoming.rename(marker)
    _sync_directory(folder.path)
    for there in (folder.pki, folder.data):
        new = marker / there.name
        if not new.exists():
            continue
        if there.exists():  # missing if an earlier restore was interrupted here
            backup = there.with_name(f"{there.name}.replaced")
            shutil.rmtree(backup, ignore_errors=True)
            there.rename(backup)
        new.rename(there)
        _sync_directory(there)
    _sync_directory(folder.path)
    shutil.rmtree(marker)


def _sync_directory(directory: Path) -> None:
    """Make renames durable, so that they survive a loss of power."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
