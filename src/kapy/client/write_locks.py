"""Serializes writers of the same object within this program."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from kapy.kube import Key
from kapy.kube.names import Resource

if TYPE_CHECKING:
    import asyncio


class WriteLocks:
    """Locks by object; a lock exists while it is held or waited for."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[tuple[Resource, Key], asyncio.Lock] = WeakValueDictionary()

    def of(self, resource: Resource, key: Key) -> asyncio.Lock:
        """Return the lock of one object."""
        lock = self._locks.get((resource, key))
        if lock is None:
            from asyncio import Lock  # commands that only read do not need asyncio

            lock = self._locks[resource, key] = Lock()
        return lock
