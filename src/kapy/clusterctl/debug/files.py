"""Reads the end of a local file."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from typing import Final

from kapy.clusterctl.debug.archive import LOG

PIECE: Final = 256 << 10


async def file_tail(path: str, most: int = 2 * LOG) -> AsyncIterator[bytes]:
    """The last bytes of a file in pieces. Raises OSError."""
    with await asyncio.to_thread(open, path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(max(0, size - most))
        while piece := await asyncio.to_thread(file.read, PIECE):
            yield piece
