"""Tunes Python for processes that run for long and hold many objects and connections."""

from __future__ import annotations

import gc
from asyncio.sslproto import SSLProtocol
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

YOUNG_THRESHOLD: Final = 20_000
"""Objects that come before the youngest are looked through. A document is hundreds of them, nearly
all of which go without the collector; at Python's own 700 it took 4 % of a cluster's CPU time."""
TLS_BUFFER: Final = 32 * 1024
"""Bytes of the buffer of a TLS connection, and of each read from it. A TLS record has 16 KiB at
most, and asyncio's own 256 KiB are above the size from which the allocator leaves holes: a manager
with 200 connected clusters of four Nodes took 490 MB, and takes 222. To read large lists takes a
tenth more CPU time."""


@contextmanager
def tuned_process() -> Iterator[None]:
    """Tune the whole process while the context is open.

    The cyclic garbage collector runs less often, and new TLS connections have small buffers.
    """
    threshold, size = gc.get_threshold(), SSLProtocol.max_size
    gc.set_threshold(YOUNG_THRESHOLD, *threshold[1:])
    SSLProtocol.max_size = TLS_BUFFER
    try:
        yield
    finally:
        gc.set_threshold(*threshold)
        SSLProtocol.max_size = size
