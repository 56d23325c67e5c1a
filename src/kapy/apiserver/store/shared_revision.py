"""The newest committed revision of a store, in memory that several processes share.

The process that writes sets it before it acknowledges a write or sends an event. So a process that
reads it knows which writes a client may already know of.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from typing import Final

_SIZE: Final = 8


class SharedRevision:
    """A revision in shared memory. handle: the file descriptor that another process maps."""

    def __init__(self, handle: int) -> None:
        self.handle = handle
        self._memory = mmap.mmap(handle, _SIZE)
        self._cell = memoryview(self._memory).cast("Q")  # one aligned store: never half of a number

    @classmethod
    def create(cls) -> SharedRevision:
        """Create the shared memory, with the revision 0. Raises OSError."""
        if hasattr(os, "memfd_create"):
            handle = os.memfd_create("revision", os.MFD_CLOEXEC)
        else:
            with tempfile.TemporaryFile() as file:
                handle = os.dup(file.fileno())
        try:
            os.ftruncate(handle, _SIZE)
            return cls(handle)
        except BaseException:
            os.close(handle)
            raise

    @property
    def value(self) -> int:
        """Return the newest committed revision."""
        return self._cell[0]

    def set(self, revision: int) -> None:
        """Set the newest committed revision."""
        self._cell[0] = revision

    def close(self) -> None:
        """Release the shared memory."""
        self._cell.release()
        self._memory.close()
        os.close(self.handle)
