"""The objects of one resource, as they are now."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kapy.kube import Document

if TYPE_CHECKING:
    from kapy.apiserver.store.feed import Feed


class Table:
    """Current documents by namespace and name, in etcd's order, and the feeds that follow them.

    A cluster-scoped resource has the single namespace "".
    """

    __slots__ = ("_order", "feeds", "name", "namespaces", "staged")

    def __init__(self, name: str) -> None:
        self.name = name
        self.namespaces: dict[str, dict[str, Document]] = {}
        self.staged: dict[tuple[str, str], Document | None] = {}
        self.feeds: list[Feed] = []
        self._order: dict[str, list[str]] = {}

    def get(self, namespace: str, name: str) -> Document | None:
        """The committed object."""
        objects = self.namespaces.get(namespace)
        return None if objects is None else objects.get(name)

    def latest(self, namespace: str, name: str) -> Document | None:
        """The object as the next write must see it: staged writes included."""
        if self.staged and (namespace, name) in self.staged:
            return self.staged[namespace, name]
        return self.get(namespace, name)

    def put(self, namespace: str, name: str, document: Document) -> None:
        """Make `document` the current one."""
        objects = self.namespaces.get(namespace)
        if objects is None:
            objects = self.namespaces[namespace] = {}
        if name not in objects:
            self._order.pop(namespace, None)
        objects[name] = document

    def remove(self, namespace: str, name: str) -> None:
        """Drop the current object, if there is one."""
        objects = self.namespaces.get(namespace)
        if objects is not None and objects.pop(name, None) is not None:
            self._order.pop(namespace, None)
            if not objects:
                del self.namespaces[namespace]

    def scan(self, namespace: str) -> Iterator[Document]:
        """All objects of a namespace ("" = of all), ordered by namespace and name as etcd is."""
        if namespace or list(self.namespaces) == [""]:
            yield from self._of(namespace)
            return
        for each in sorted(self.namespaces, key=lambda one: one + "/"):
            yield from self._of(each)

    def _of(self, namespace: str) -> Iterator[Document]:
        objects = self.namespaces.get(namespace)
        if objects is None:
            return iter(())
        order = self._order.get(namespace)
        if order is None:
            order = self._order[namespace] = sorted(objects)
        return map(objects.__getitem__, order)

    def content(self, namespace: str) -> dict[tuple[str, str], Document]:
        """All objects of a namespace ("" = of all) by key."""
        wanted = [namespace] if namespace else list(self.namespaces)
        return {
            (each, name): document
            for each in wanted
            for name, document in self.namespaces.get(each, {}).items()
        }

    def __len__(self) -> int:
        return sum(map(len, self.namespaces.values()))
