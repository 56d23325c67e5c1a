"""Create tar archives for a container engine, and read the archives that it sends."""

from __future__ import annotations

import io
import tarfile
from asyncio import IncompleteReadError
from collections.abc import AsyncGenerator, Iterable
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from kapy._aio.plain_tar import EXTENDED, PlainInfo
from kapy.containers.records import File

if TYPE_CHECKING:
    from aiohttp import StreamReader

_BLOCK: Final = tarfile.BLOCKSIZE
_PIECE: Final = 256 << 10
_EXTENSIONS: Final = 16
"""The maximum number of extended headers before a file."""


class NoFile(Exception):
    """The first member of an archive is not a file."""


def archive_of(files: Iterable[File]) -> bytes:
    """Return a tar archive for the root directory of a container; root owns all files."""
    result = io.BytesIO()
    with tarfile.open(fileobj=result, mode="w") as archive:
        for file in files:
            entry = tarfile.TarInfo(str(PurePosixPath(file.path)).lstrip("/"))
            entry.size, entry.mode = len(file.content), file.mode
            archive.addfile(entry, io.BytesIO(file.content))
    return result.getvalue()


async def first_file(archive: StreamReader) -> AsyncGenerator[bytes, None]:
    """Yield the content of the first file of an archive in pieces, without buffering it.

    Raises NoFile, tarfile.ReadError.
    """
    try:
        remaining = await _size_of_first(archive)
        while remaining:
            piece = await archive.readexactly(min(remaining, _PIECE))
            remaining -= len(piece)
            yield piece
    except IncompleteReadError as error:
        raise tarfile.ReadError("the archive ends too early") from error


async def _size_of_first(archive: StreamReader) -> int:
    extended: int | None = None
    for _ in range(_EXTENSIONS):
        entry = PlainInfo.frombuf(await archive.readexactly(_BLOCK), "utf-8", "surrogateescape")
        if entry.size < 0:
            raise tarfile.ReadError("the archive has a negative size")
        if entry.type not in EXTENDED:
            if not entry.isreg() or entry.issparse():
                raise NoFile
            return entry.size if extended is None else extended
        header = await archive.readexactly(-(-entry.size // _BLOCK) * _BLOCK)
        extended = _extended_size(header[: entry.size]) or extended
    raise tarfile.ReadError(f"the archive has more than {_EXTENSIONS} extended headers")


def _extended_size(header: bytes) -> int | None:
    """Return the size in an extended header, which files of 8 GiB or more have; None if there is
    none."""
    for record in header.split(b"\n"):
        name, _, value = record.partition(b" ")[2].partition(b"=")
        if name == b"size" and value.isdigit() and len(value) < _BLOCK:
            return int(value)
    return None
