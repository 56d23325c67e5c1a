"""What can go wrong with the storage of a server, as sentences for people.

* StoreError            (KapyError) the store cannot be opened or cannot be trusted any more
  - StoreInUse          another process has the data directory
  - StoreTooNew         a later version of this program wrote it
"""

from __future__ import annotations

from kapy.kube.errors import KapyError


class StoreError(KapyError):
    """The store cannot be opened, or a write to it failed; the message says what to do."""


class StoreInUse(StoreError):
    """Another process holds the data directory."""


class StoreTooNew(StoreError):
    """The data was written by a later schema version than this program knows."""
