"""Limits for a collection that an untrusted server sends."""

from __future__ import annotations

from typing import Final

import msgspec

from kapy.client.stream import Event
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError

MOST_OBJECTS: Final = 50_000
"""Kubernetes supports 5,000 nodes in a cluster, and no collection that is read there has more."""
MOST_BYTES: Final = 256 << 20

_encode: Final = msgspec.json.Encoder().encode


class CollectionTooLarge(KapyError):
    """A collection exceeds the limits for objects or bytes."""


class CollectionLimit:
    """Counts the objects of one collection and the bytes that they occupy."""

    __slots__ = ("_bytes", "_objects", "_sizes", "_total")

    def __init__(self, objects: int = MOST_OBJECTS, total: int = MOST_BYTES) -> None:
        self._objects = objects
        self._bytes = total
        self._sizes: dict[Key, int] = {}
        self._total = 0

    def begin(self) -> None:
        """Start counting anew, for a new list."""
        self._sizes.clear()
        self._total = 0

    def add(self, document: Document) -> None:
        """Count an object or its next state. Raises TooMuch."""
        key, size = Key.of(document), len(_encode(document))
        self._total += size - self._sizes.get(key, 0)
        self._sizes[key] = size
        if len(self._sizes) > self._objects:
            raise CollectionTooLarge(f"there are more than {self._objects} objects")
        if self._total > self._bytes:
            raise CollectionTooLarge(f"its objects have more than {self._bytes} bytes")

    def follow(self, event: Event) -> None:
        """Count a watch event. Raises TooMuch."""
        if event.type == "DELETED":
            self._total -= self._sizes.pop(Key.of(event.document), 0)
        elif event.type != "BOOKMARK":
            self.add(event.document)
