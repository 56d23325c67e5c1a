"""Creates the tar archives that engines unpack. Pure."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterable
from pathlib import PurePosixPath

from kapy.containers.records import File


def archive_of(files: Iterable[File]) -> bytes:
    """A tar archive for the root directory of a container; root owns all files."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for file in files:
            entry = tarfile.TarInfo(str(PurePosixPath(file.path)).lstrip("/"))
            entry.size, entry.mode = len(file.content), file.mode
            archive.addfile(entry, io.BytesIO(file.content))
    return made.getvalue()
