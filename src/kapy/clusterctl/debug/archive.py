"""A tar archive of limited size; secrets are removed from all texts and documents."""

from __future__ import annotations

import asyncio
import io
import tarfile
from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from typing import Any, BinaryIO, Final

from kapy.clusterctl.debug.redaction import Redactor
from kapy.kube import Document
from kapy.kube.yaml import dump

MAX_LOG_BYTES: Final = 2 << 20
"""The size limit of one log in bytes; the end is kept."""
MAX_TOTAL_BYTES: Final = 64 << 20
"""The size limit of all files in bytes, uncompressed."""
_FOLDER: Final = "kapy-debug"


class Archive:
    """The files of a bug report.

    missing: data that could not be read, one sentence each. max_bytes: the limit of all files.
    """

    def __init__(
        self,
        file: BinaryIO,
        now: datetime,
        *,
        max_bytes: int = MAX_TOTAL_BYTES,
        log: int = MAX_LOG_BYTES,
    ) -> None:
        self.redactor = Redactor()
        self.missing: list[str] = []
        self.names: dict[str, int] = {}
        self._left = max_bytes
        self._most_of_log = log
        self._time = int(now.timestamp())
        self._tar = tarfile.open(fileobj=file, mode="w:gz", compresslevel=6)  # noqa: SIM115 - `close` closes it

    def close(self) -> None:
        """Write the end of the archive."""
        self._tar.close()

    async def document(self, name: str, document: Document | Mapping[str, Any]) -> None:
        """Add a document to the archive as a YAML file, without secrets."""
        clean = await asyncio.to_thread(self.redactor.document, dict(document))
        await self._add(name, await asyncio.to_thread(dump, clean))

    async def text(self, name: str, text: str) -> None:
        """Add a text file to the archive, without secrets."""
        await self._add(name, await asyncio.to_thread(self.redactor.text, text))

    async def log(self, name: str, pieces: AsyncIterator[bytes]) -> None:
        """Add the end of a log to the archive. If reading fails, the part read so far is kept."""
        tail = bytearray()
        is_cut = False
        try:
            async for piece in pieces:
                tail += piece
                if len(tail) > 2 * self._most_of_log:
                    del tail[: -self._most_of_log]
                    is_cut = True
        finally:
            is_cut = is_cut or len(tail) > self._most_of_log
            text = bytes(tail[-self._most_of_log :]).decode(errors="replace")
            if is_cut:
                # The rest of the first line is dropped: it may begin in the middle of a secret.
                text = f"(only the last {self._most_of_log} bytes)\n{text.partition(chr(10))[2]}"
            if text:
                await self.text(name, text)

    async def _add(self, name: str, text: str) -> None:
        content = text.encode(errors="replace")
        if len(content) > self._left:
            self.missing.append(f"{name}: the archive has its full size already")
            return
        self._left -= len(content)
        entry = tarfile.TarInfo(f"{_FOLDER}/{name}")
        entry.size, entry.mtime, entry.mode = len(content), self._time, 0o600
        self._tar.addfile(entry, io.BytesIO(content))
        self.names[name] = len(content)
