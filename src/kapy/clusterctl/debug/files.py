"""Reads the end of a local file."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from typing import Final

from kapy.clusterctl.debug.archive import MAX_LOG_BYTES

CHUNK_BYTES: Final = 256 << 10


async def file_tail(path: str, max_bytes: int = 2 * MAX_LOG_BYTES) -> AsyncIterator[bytes]:
    """The last bytes of a file in pieces. Raises OSError."""
    with await asyncio.to_thread(open, path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(max(0, size - max_bytes))
        while piece := await asyncio.to_thread(file.read, CHUNK_BYTES):
            yield piece
