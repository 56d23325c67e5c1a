"""The current objects of one resource."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from kapy.apiserver.store.stored_object import StoredObject
from kapy.kube import Document
from kapy.kube.idle_keys import IdleKeys

if TYPE_CHECKING:
    from kapy.apiserver.store.watcher import Watcher

_NONE: Final[Set[tuple[str, str]]] = frozenset()  # most tables of many servers have no large object
LARGE: Final = 64 * 1024
"""The size in bytes of JSON above which an object counts as large."""

Reader = Callable[[Document], Document]
"""A function applied to each object read from disk; returns it or a changed document."""


class _Head(msgspec.Struct):
    """The part of an object that garbage collection reads."""

    metadata: _Metadata


class _Metadata(msgspec.Struct, rename="camel", omit_defaults=True):
    uid: str = ""
    finalizers: list[str] = []
    owner_references: list[Document] = []
    deletion_timestamp: str | None = None


_head = msgspec.json.Decoder(_Head).decode


class Place(NamedTuple):
    """The place of an object in a store: its table, namespace and name."""

    table: str
    namespace: str
    name: str


class Table:
    """The current documents by namespace and name, in etcd's order, and the watchers of them.

    A cluster-scoped resource has the single namespace "". reader: a function that is applied to an
    object from disk at its first read. large: the keys of large objects. idle: records each object
    that is written or decoded.
    """

    __slots__ = ("_idle", "_order", "large", "name", "namespaces", "reader", "staged", "watchers")

    def __init__(self, name: str, idle: IdleKeys[Place] | None = None) -> None:
        self.name = name
        self._idle = IdleKeys[Place]() if idle is None else idle
        self.namespaces: dict[str, dict[str, StoredObject]] = {}
        self.staged: dict[tuple[str, str], StoredObject | None] = {}
        self.watchers: list[Watcher] = []
        self.reader: Reader | None = None
        self.large: Set[tuple[str, str]] = _NONE
        self._order: dict[str, list[str]] = {}

    def is_large(self, namespace: str, name: str) -> bool:
        """Report whether an object is so large that its work should yield to other requests."""
        return (namespace, name) in self.large

    def set_size(self, namespace: str, name: str, size: int) -> None:
        """Record the size of an object's JSON in bytes; 0 if the object is gone."""
        large = self.large
        if size > LARGE:
            if not isinstance(large, set):
                large = self.large = set()
            large.add((namespace, name))
        elif isinstance(large, set):
            large.discard((namespace, name))

    def get(self, namespace: str, name: str) -> Document | None:
        """Return the committed object."""
        objects = self.namespaces.get(namespace)
        stored = None if objects is None else objects.get(name)
        return None if stored is None else stored.document or self._decode(stored)

    def undecoded(self, namespace: str) -> list[tuple[str, str]]:
        """Return namespace and name of the objects of a namespace ("" = all) without a document."""
        wanted = [namespace] if namespace else list(self.namespaces)
        return [
            (item, name)
            for item in wanted
            for name, stored in self.namespaces.get(item, {}).items()
            if stored.document is None
        ]

    def decode(self, namespace: str, name: str) -> bool:
        """Decode an object; report whether that was still to be done."""
        stored = self.namespaces.get(namespace, {}).get(name)
        if stored is None or stored.document is not None:
            return False
        self._decode(stored)
        return True

    def _decode(self, stored: StoredObject) -> Document:
        document = stored.decode()
        metadata = document["metadata"]
        self._idle.mark(Place(self.name, metadata.get("namespace", ""), metadata["name"]))
        if self.reader is not None:
            view = self.reader(document)
            if view is not document and view != document:
                stored.document, stored.encoded = view, b""
                return view
            stored.is_final = True
        return document

    def latest(self, namespace: str, name: str) -> Document | None:
        """Return the object that the next write builds on, including staged writes."""
        if self.staged:
            stored = self.latest_stored(namespace, name)
            return None if stored is None else stored.document or self._decode(stored)
        return self.get(namespace, name)

    def latest_stored(self, namespace: str, name: str) -> StoredObject | None:
        """Return the stored object of `latest`, without decoding it."""
        if self.staged and (namespace, name) in self.staged:
            return self.staged[namespace, name]
        objects = self.namespaces.get(namespace)
        return None if objects is None else objects.get(name)

    def put(self, namespace: str, name: str, stored: StoredObject) -> None:
        """Make `stored` the current object."""
        objects = self.namespaces.get(namespace)
        if objects is None:
            objects = self.namespaces[namespace] = {}
        if name not in objects:
            self._order.pop(namespace, None)
        objects[name] = stored
        self._idle.mark(Place(self.name, namespace, name))

    def remove(self, namespace: str, name: str) -> None:
        """Remove the current object, if there is one."""
        objects = self.namespaces.get(namespace)
        if objects is not None and objects.pop(name, None) is not None:
            self._order.pop(namespace, None)
            if not objects:
                del self.namespaces[namespace]

    def set_reader(self, reader: Reader | None) -> None:
        """Set the reader, and apply it at once to all objects that were already decoded."""
        self.reader = reader
        if reader is None:
            return
        for objects in self.namespaces.values():
            for name, stored in objects.items():
                stored.is_final = False
                if stored.document is not None:
                    view = reader(stored.document)
                    if view is not stored.document and view != stored.document:
                        objects[name] = StoredObject(view, proof=stored.checksum)

    def scan(self, namespace: str) -> Iterator[Document]:
        """Yield all objects of a namespace ("" = all), ordered by namespace and name like in
        etcd.
        """
        if namespace or list(self.namespaces) == [""]:
            yield from self._in_namespace(namespace)
            return
        for item in sorted(self.namespaces, key=lambda value: value + "/"):
            yield from self._in_namespace(item)

    def _in_namespace(self, namespace: str) -> Iterator[Document]:
        objects = self.namespaces.get(namespace)
        if objects is None:
            return
        order = self._order.get(namespace)
        if order is None:
            order = self._order[namespace] = sorted(objects)
        for name in order:
            stored = objects[name]
            yield stored.document or self._decode(stored)

    def content(self, namespace: str) -> dict[tuple[str, str], Document]:
        """Return all objects of a namespace ("" = all) by namespace and name."""
        wanted = [namespace] if namespace else list(self.namespaces)
        return {
            (item, name): stored.document or self._decode(stored)
            for item in wanted
            for name, stored in self.namespaces.get(item, {}).items()
        }

    def head(self, namespace: str, name: str) -> Document | None:
        """Return the metadata of an object (at least uid, owners, finalizers, deletionTimestamp)
        without decoding the rest of it, None if it does not exist.
        """
        stored = self.namespaces.get(namespace, {}).get(name)
        if stored is None:
            return None
        document = stored.document
        if document is not None:
            metadata: Document = document["metadata"]
            return metadata
        head: Document = msgspec.to_builtins(_head(stored.encoded).metadata)
        return head

    def find_json(self, namespace: str, name: str, begins: tuple[bytes, ...]) -> bytes:
        """Return the JSON of a current object without decoding it, b"" if it is not kept, begins
        with none of `begins`, or may not be what readers get.
        """
        objects = self.namespaces.get(namespace)
        stored = None if objects is None else objects.get(name)
        if stored is None or not (stored.is_final or self.reader is None):
            return b""
        encoded = stored.encoded
        return encoded if encoded.startswith(begins) else b""

    def find_encoding(self, document: Document) -> bytes:
        """Return the JSON of a current document of this table, b"" if it is not kept."""
        metadata = document["metadata"]
        objects = self.namespaces.get(metadata.get("namespace", ""))
        stored = None if objects is None else objects.get(metadata["name"])
        return stored.encoded if stored is not None and stored.document is document else b""

    def __len__(self) -> int:
        return sum(map(len, self.namespaces.values()))
