"""Files of a volume that are replaced atomically, as kubelets do.

    volumes/cert/tls.crt  → ..data/tls.crt
    volumes/cert/..data   → ..3f2a9c
    volumes/cert/..3f2a9c/tls.crt

A new state is a new folder, and one `rename` of the link `..data` activates it: readers see the
files of one state, and file watchers see them change.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Final, NamedTuple

DATA: Final = "..data"


class Content(NamedTuple):
    """The content of a file, and its permissions."""

    data: bytes
    mode: int = 0o644


def publish_files(folder: Path, files: Mapping[str, Content]) -> bool:
    """Make a folder contain exactly these files (by relative path); whether anything changed."""
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    name = f"..{_digest(files)}"
    link = folder / DATA
    before = os.readlink(link) if link.is_symlink() else ""
    if before == name:
        return False
    _write(folder / name, files)
    fresh = folder / "..data_tmp"
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(name)
    fresh.replace(link)
    _link_all(folder, {path.split("/")[0] for path in files})
    for old in folder.glob("..*"):
        if old.name not in (DATA, name):
            shutil.rmtree(old, ignore_errors=True)
    return True


def _digest(files: Mapping[str, Content]) -> str:
    digest = blake2b(digest_size=8)
    for path in sorted(files):
        content = files[path]
        digest.update(f"{path}\0{content.mode:o}\0{len(content.data)}\0".encode())
        digest.update(content.data)
    return digest.hexdigest()


def _write(folder: Path, files: Mapping[str, Content]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o755)
    for path, content in files.items():
        file = folder / path
        file.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as stream:
            stream.write(content.data)
        file.chmod(content.mode)


def _link_all(folder: Path, names: set[str]) -> None:
    """Create a link for each top-level name, and remove the links of deleted files."""
    for there in folder.iterdir():
        if not there.name.startswith("..") and there.name not in names:
            with suppress(OSError):
                there.unlink()
    for name in names:
        link = folder / name
        if not link.is_symlink():
            link.symlink_to(f"{DATA}/{name}")
