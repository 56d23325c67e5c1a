"""The exceptions of the storage layer; their messages are written for users.

* StoreError            (KapyError) the store cannot be opened, or a write to it failed
  - StoreInUse          another process has the data directory
  - StoreTooNew         a later version of this program wrote the data
  - StoreDamaged        the data on disk cannot be trusted; nothing more is written to it
    - DataLost          the data on disk is sound, but acknowledged writes are missing
"""

from __future__ import annotations

from kapy.kube.errors import KapyError


class StoreError(KapyError):
    """The store cannot be opened, or a write to it failed; the message says how to fix it.

    A failed write leaves nothing behind, and a later write may succeed.
    """


class StoreInUse(StoreError):
    """Another process holds the data directory."""


class StoreTooNew(StoreError):
    """The data has a newer schema version than this program supports."""


class StoreDamaged(StoreError):
    """The data on disk differs from what was written, or its integrity cannot be verified."""


class DataLost(StoreDamaged):
    """Acknowledged writes are missing; a user may accept the loss and continue with the rest."""


class ObjectTooLarge(StoreError):
    """An object exceeds the size limit."""

    def __init__(self, size: int, most: int) -> None:
        super().__init__(
            f"Request entity too large: the object would have {size} bytes of JSON, "
            f"exceeding the limit {most}"
        )
