"""Tunes Python for processes that run for long and hold many objects and connections."""

from __future__ import annotations

import gc
from asyncio import AbstractEventLoop
from asyncio.sslproto import SSLProtocol
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final
from weakref import WeakKeyDictionary

YOUNG_THRESHOLD: Final = 20_000
"""Objects that come before the youngest are looked through. A document is hundreds of them, nearly
all of which go without the collector; at Python's own 700 it took 4 % of a cluster's CPU time."""
TLS_BUFFER: Final = 32 * 1024
"""Bytes of the buffer into which an event loop reads from TLS connections, and of each read from
it. A TLS record has 16 KiB at most, and asyncio's own 256 KiB are above the size from which the
allocator leaves holes. To read large lists takes a tenth more CPU time."""


@contextmanager
def tuned_process() -> Iterator[None]:
    """Tune the whole process while the context is open.

    The cyclic garbage collector runs less often, and the new TLS connections of an event loop
    share one small buffer.
    """
    threshold, size = gc.get_threshold(), SSLProtocol.max_size
    connection_made = SSLProtocol.connection_made
    gc.set_threshold(YOUNG_THRESHOLD, *threshold[1:])
    SSLProtocol.max_size = TLS_BUFFER
    SSLProtocol.connection_made = _with_shared_buffer(connection_made)  # type: ignore[method-assign]
    try:
        yield
    finally:
        gc.set_threshold(*threshold)
        SSLProtocol.max_size = size
        SSLProtocol.connection_made = connection_made  # type: ignore[method-assign]


def _with_shared_buffer(connection_made: Callable[..., None]) -> Callable[..., None]:
    """Return a `connection_made` that replaces a connection's own buffer with its event loop's.

    A loop reads into the buffer and hands the bytes to OpenSSL in one step (`buffer_updated`), so
    no connection finds bytes of another one there.
    """
    buffers: WeakKeyDictionary[AbstractEventLoop, bytearray] = WeakKeyDictionary()

    def connect(protocol: Any, transport: object) -> None:
        connection_made(protocol, transport)
        buffer = buffers.get(protocol._loop)
        if buffer is None:
            buffer = buffers[protocol._loop] = bytearray(TLS_BUFFER)
        protocol._ssl_buffer, protocol._ssl_buffer_view = buffer, memoryview(buffer)

    return connect
