"""Files as the tar archive that engines take. Pure."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterable
from pathlib import PurePosixPath

from kapy.containers.records import File


def archive_of(files: Iterable[File]) -> bytes:
    """A tar archive to be unpacked in the root folder; everything belongs to root."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for file in files:
            entry = tarfile.TarInfo(str(PurePosixPath(file.path)).lstrip("/"))
            entry.size, entry.mode = len(file.content), file.mode
            archive.addfile(entry, io.BytesIO(file.content))
    return made.getvalue()
