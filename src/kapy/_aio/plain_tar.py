"""Reads tar archives from untrusted sources."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from typing import IO, Final

MAX_HEADER_BYTES: Final = 1 << 16
MAX_MEMBERS: Final = 10_000

EXTENDED: Final = frozenset(
    (
        tarfile.XHDTYPE,
        tarfile.XGLTYPE,
        tarfile.SOLARIS_XHDTYPE,
        tarfile.GNUTYPE_LONGNAME,
        tarfile.GNUTYPE_LONGLINK,
    )
)


class PlainInfo(tarfile.TarInfo):
    """A member whose headers are small; pass it to `tarfile.open` as `tarinfo`."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> PlainInfo:
        """Parse a header block. Raises tarfile.ReadError if the header is too large."""
        result = super().frombuf(buf, encoding, errors)
        if result.type in EXTENDED and result.size > MAX_HEADER_BYTES:
            raise tarfile.ReadError(f"a header of the archive is larger than {MAX_HEADER_BYTES}")
        return result


def members(archive: tarfile.TarFile) -> Iterator[tuple[tarfile.TarInfo, IO[bytes]]]:
    """The regular files of an archive that was opened with PlainInfo, with their content.

    Links, devices and folders are left out. Raises tarfile.TarError.
    """
    for number, member in enumerate(archive):
        if number >= MAX_MEMBERS:
            raise tarfile.ReadError(f"the archive has more than {MAX_MEMBERS} members")
        if member.issparse():
            raise tarfile.ReadError(f"{member.name!r} is a sparse file")
        content = archive.extractfile(member) if member.isreg() else None
        if content is not None:
            yield member, content
