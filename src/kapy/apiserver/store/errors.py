"""What can go wrong with the storage of a server, as sentences for people.

* StoreError            (KapyError) the store cannot be opened, or a write to it failed
  - StoreInUse          another process has the data directory
  - StoreTooNew         a later version of this program wrote it
  - StoreDamaged        what is on disk cannot be trusted; nothing is written to it any more
    - DataLost          what is on disk is sound, but acknowledged writes are missing
"""

from __future__ import annotations

from kapy.kube.errors import KapyError


class StoreError(KapyError):
    """The store cannot be opened, or a write to it failed; the message says what to do.

    A write that failed has left nothing behind, and one tried later may succeed.
    """


class StoreInUse(StoreError):
    """Another process holds the data directory."""


class StoreTooNew(StoreError):
    """The data was written by a later schema version than this program knows."""


class StoreDamaged(StoreError):
    """What is on disk is not what was written, or whether it is cannot be told."""


class DataLost(StoreDamaged):
    """Acknowledged writes are missing; a user may accept that and go on with what is there."""


class ObjectTooLarge(StoreError):
    """An object has more bytes than one may have."""

    def __init__(self, size: int, most: int) -> None:
        super().__init__(
            f"Request entity too large: the object would have {size} bytes of JSON, "
            f"exceeding the limit {most}"
        )
